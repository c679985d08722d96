target "a" {
  args = {
