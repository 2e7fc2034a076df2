# find_package(NeuralArt): networks as sources of CMake targets.
#
#     find_package(NeuralArt REQUIRED)
#     neuralart_add_network(app MODEL digits.tflite BOARD stm32h747i-disco)
#
# docs/how-to/cmake.md has the arguments, and where find_package looks.

if(CMAKE_VERSION VERSION_LESS 3.20)
  message(FATAL_ERROR "${CMAKE_CURRENT_LIST_FILE} needs CMake 3.20")
endif()

# Beside a checkout of the package lies the package itself; pip installs the command three folders up.
if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/../../neuralart/__init__.py")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  get_filename_component(_neuralart_path "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
  set(NEURALART_COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${_neuralart_path}" "${Python3_EXECUTABLE}" -m neuralart)
else()
  find_program(NEURALART_PROGRAM neuralart HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin"
               "${CMAKE_CURRENT_LIST_DIR}/../../../Scripts" NO_CMAKE_FIND_ROOT_PATH)
  if(NOT NEURALART_PROGRAM)
    set(NeuralArt_FOUND FALSE)
    set(NeuralArt_NOT_FOUND_MESSAGE "there is no program neuralart: pip install scons-neuralart, or set NEURALART_PROGRAM")
    return()
  endif()
  set(NEURALART_COMMAND "${NEURALART_PROGRAM}")
endif()

# Add the C of a network, and the runtime that it needs, to a target.
function(neuralart_add_network target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODEL;BOARD;NAME" "OPTIONS")
  set(where "neuralart_add_network(${target})")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_MODEL OR NOT arg_BOARD OR NOT TARGET ${target})
    message(FATAL_ERROR "${where}: takes a target, MODEL file, BOARD name, and perhaps NAME name and OPTIONS word...; "
                        "the target is there before")
  endif()
  get_property(known TARGET ${target} PROPERTY NEURALART_NETWORK)
  if(known)
    message(FATAL_ERROR "${where}: it has network ${known} already. Several networks of one program are a variant: "
                        "neuralart export")
  endif()
  get_filename_component(model "${arg_MODEL}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT arg_NAME)
    get_filename_component(arg_NAME "${model}" NAME_WE)
  endif()
  if(arg_BOARD MATCHES "\\.yaml$")
    get_filename_component(arg_BOARD "${arg_BOARD}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/neuralart/${target}")
  set(stamp "${folder}.stamp")
  list(TRANSFORM arg_OPTIONS PREPEND "--option=")
  set(command ${NEURALART_COMMAND} export --quiet --force "--model=${model}" "--board=${arg_BOARD}"
      "--name=${arg_NAME}" "--to=${folder}" "--depfile=${stamp}.d" ${arg_OPTIONS})

  # Which files there are, the model says: so it is compiled when CMake runs, and again when the model changes.
  execute_process(COMMAND ${command} RESULT_VARIABLE status ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${where}: ${said}")
  endif()
  file(READ "${folder}/manifest.json" manifest)
  foreach(key IN ITEMS sources include_dirs defines files images)
    set(${key})
    string(JSON count LENGTH "${manifest}" ${key})
    math(EXPR count "${count} - 1")
    foreach(row RANGE ${count})
      if(count GREATER_EQUAL 0)
        if(key STREQUAL "files")
          string(JSON word GET "${manifest}" files ${row} name)
        elseif(key STREQUAL "images")
          string(JSON word GET "${manifest}" images ${row} hex)
        else()
          string(JSON word GET "${manifest}" ${key} ${row})
        endif()
        list(APPEND ${key} "${word}")
      endif()
    endforeach()
  endforeach()
  foreach(key IN ITEMS sources include_dirs files images)
    list(TRANSFORM ${key} PREPEND "${folder}/")
  endforeach()
  add_custom_command(
    OUTPUT "${stamp}" BYPRODUCTS ${files} "${folder}/manifest.json"
    COMMAND ${command} COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${model}" DEPFILE "${stamp}.d" COMMENT "Compiling network ${arg_NAME}" VERBATIM)
  # It changes when the list of files does.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/network.cmake")
  target_sources(${target} PRIVATE ${sources} "${stamp}")
  target_include_directories(${target} PRIVATE ${include_dirs})
  target_compile_definitions(${target} PRIVATE ${defines})
  # Otherwise compilers may fuse products and sums, which rounds differently.
  if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")
  endif()
  set_property(TARGET ${target} PROPERTY NEURALART_NETWORK "${arg_NAME}")
  # What goes into flash beside the program.
  set_property(TARGET ${target} PROPERTY NEURALART_HEX_FILES "${images}")
endfunction()
