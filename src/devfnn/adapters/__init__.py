"""DEVFNN inside other libraries; import the module of one: `devfnn.adapters.river`."""
