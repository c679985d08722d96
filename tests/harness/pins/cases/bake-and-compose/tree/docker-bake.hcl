# variable "SIM_REV" { default = "2222222222222222222222222222222222222222" }
variable "SIM_REV" {
  default = "2222222222222222222222222222222222222222"
}
target "app" {
  args = {
    SIM_REV = SIM_REV
    OTHER   = "x"
  }
  contexts = { base = "docker-image://python:3.11" }
  labels = { "org.opencontainers.image.revision" = "2222222222222222222222222222222222222222" }
  tags = ["app:latest"]
}
