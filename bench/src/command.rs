//! The command, which some benches start.

use std::path::PathBuf;

/// Where `cargo build --release` puts it.
pub fn path() -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/perfset")
}
