//! The command, which some benches start.

use std::path::PathBuf;

/// Environment variable with the path of another build, such as that of packages.
const VARIABLE: &str = "PERFSET_COMMAND";

/// Path at which `cargo build --release` puts the program.
pub fn path() -> PathBuf {
    let built = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/perfset");
    std::env::var_os(VARIABLE).map_or_else(built, PathBuf::from)
}
