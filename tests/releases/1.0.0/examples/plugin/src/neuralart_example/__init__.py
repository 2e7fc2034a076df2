"""An example of plugins for scons-neuralart. Each module works by itself, also in site_scons/neuralart_plugins."""
