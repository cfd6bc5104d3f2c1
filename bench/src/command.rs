//! Path of the `perfset` command, which some benches start.

use std::path::PathBuf;

/// Environment variable with the path of another build of the `perfset` command, such as that of a package.
const VARIABLE: &str = "PERFSET_COMMAND";

/// Returns the path of the `perfset` command: the one in `PERFSET_COMMAND`, or that of `cargo build --release`.
pub fn path() -> PathBuf {
    let built = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/perfset");
    std::env::var_os(VARIABLE).map_or_else(built, PathBuf::from)
}
