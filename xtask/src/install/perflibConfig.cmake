# perflib::perflib         libperflib.so with perflib.h and winperf.h
# perflib::perflib_static  the same as an archive
# perflib::windows         besides, what Windows source includes and calls: windows.h, wmain

get_filename_component(_perflib_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)

if(NOT TARGET perflib::perflib)
  add_library(perflib::perflib SHARED IMPORTED)
  set_target_properties(perflib::perflib PROPERTIES
    IMPORTED_LOCATION "${_perflib_prefix}/lib/libperflib.so.@VERSION@"
    IMPORTED_SONAME "libperflib.so.@MAJOR@"
    INTERFACE_INCLUDE_DIRECTORIES "${_perflib_prefix}/include")

  add_library(perflib::perflib_static STATIC IMPORTED)
  set_target_properties(perflib::perflib_static PROPERTIES
    IMPORTED_LOCATION "${_perflib_prefix}/lib/libperflib.a"
    INTERFACE_LINK_LIBRARIES "@STATIC_LIBS@"
    INTERFACE_INCLUDE_DIRECTORIES "${_perflib_prefix}/include")

  add_library(perflib::windows STATIC IMPORTED)
  set_target_properties(perflib::windows PROPERTIES
    IMPORTED_LOCATION "${_perflib_prefix}/lib/libperflib-windows.a"
    INTERFACE_LINK_LIBRARIES perflib::perflib
    INTERFACE_INCLUDE_DIRECTORIES "${_perflib_prefix}/include/perflib-windows")
endif()

unset(_perflib_prefix)
