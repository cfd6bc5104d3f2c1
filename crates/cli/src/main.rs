//! Entry point of the command `perfset`.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod closed_output;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    let is_output_closed = closed_output::is_closed();
    #[cfg(not(target_os = "linux"))]
    let is_output_closed = false;
    perfset_cli::run(is_output_closed)
}
