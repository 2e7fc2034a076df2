"""Lets SCons find the tool neuralart without a toolpath: the wheel installs this file as SCons/Tool/neuralart.py."""

from neuralart import exists as exists
from neuralart import generate as generate
