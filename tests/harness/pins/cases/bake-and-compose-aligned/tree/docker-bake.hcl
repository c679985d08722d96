variable "SIM_REV" { default = "1111111111111111111111111111111111111111" }
function "f" {
  params = [x]
  result = notequal("", x) ? "a" : "b"
}
group "default" { targets = ["app"] }
target "app" {
  args = { SIM_REV = "${SIM_REV}", "Y" = f("x") }
  contexts = { base = "docker-image://python:3.12", src = "target:x" }
}
