"""The lab: a sandboxed workplace in which one coder works on one draft, command by command."""
