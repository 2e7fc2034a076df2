from neuralart_bring import platformio

Import("env")
platformio.add(env, "models/digits.tflite", board="stm32h747i-disco")
