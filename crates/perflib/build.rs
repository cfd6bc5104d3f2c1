//! Linker arguments of the shared library `libperflib.so`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    // Programs ask for the major version, as long as it is compatible.
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libperflib.so.{major}");
    // Once loaded it stays: a slow provider may have a thread in it, and a thread its last error.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
