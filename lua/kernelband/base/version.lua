-- base/version.lua - what kernelband --version says.
return "0.1"
