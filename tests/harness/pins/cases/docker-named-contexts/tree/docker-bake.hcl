target "a" {
  contexts = { base = "target:b" }
}
