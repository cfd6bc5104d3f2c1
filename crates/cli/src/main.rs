//! Entry point of the command `perfset`.

use std::process::ExitCode;

fn main() -> ExitCode {
    perfset_cli::run()
}
