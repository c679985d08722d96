variable "SIM_REV" { default = "1111111111111111111111111111111111111111" }
target "app" {
  args = { SIM_REV = "1111111111111111111111111111111111111111" }
  contexts = { base = "docker-image://python:3.12" }
  labels = { "org.opencontainers.image.revision" = "1111111111111111111111111111111111111111" }
}
