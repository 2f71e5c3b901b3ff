-- base/version.lua - what kernelband --version says.
return "0.2.0"
