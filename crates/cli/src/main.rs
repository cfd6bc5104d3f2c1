//! The command `perfset`.

use std::process::ExitCode;

fn main() -> ExitCode {
    perfset_cli::run()
}
