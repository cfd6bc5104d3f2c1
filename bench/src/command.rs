//! The command, which some benches start.

use std::path::PathBuf;

/// Path at which `cargo build --release` puts the program.
pub fn path() -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/perfset")
}
