//! `cargo xtask bench`: benches of the working tree and of another commit, side by side.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::progress::{Progress, quiet_in_logs};
use crate::repository::{output_of, root, run as run_program, target};
use comparison::CommitComparison;
use tables::parse_tables;

mod comparison;
mod tables;

/// Build the benches of the working tree and of another commit, run both in turn, and print the ratio of each row
#[derive(clap::Args)]
pub struct Args {
    /// Benches to run, such as `decode` and `log`: see bench/README.md
    #[arg(required = true)]
    benches: Vec<String>,
    /// Commit to compare the working tree with
    #[arg(long, value_name = "REF")]
    against: String,
    /// Number of times that each of the two is run
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Number of rounds in each run
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

/// Names of benches that start `target/release/perfset`.
const OF_COMMAND: [&str; 4] = ["overview", "record", "start", "stream"];

/// Runs the benches of the working tree and of another commit, and prints the ratios of their costs.
///
/// What is built of the other commit stays below `target`, so that the next comparison compiles only what changed.
pub fn run(args: &Args) -> Result<()> {
    let commit = format!("{}^{{commit}}", args.against);
    let mut name = Command::new("git");
    let commit = output_of(name.args(["rev-parse", "--short", "--verify", &commit]).current_dir(root()))?;
    let commit = commit.trim();
    let needs_command = args.benches.iter().any(|bench| OF_COMMAND.contains(&bench.as_str()));
    let runs = args.benches.len() * usize::try_from(args.turns)?;
    let mut progress = Progress::new(2 + runs);

    let directory = target().join("bench-against");
    let other = Worktree::add(&directory.join("tree"), commit)?;
    progress.step(&format!("building the benches of {commit}"));
    let of_commit = build(&other.path, &directory.join("built"), needs_command)?;
    progress.step("building those of the working tree");
    let of_tree = build(&root(), &root().join("bench/target"), needs_command)?;

    for bench in &args.benches {
        let mut comparison = CommitComparison::new(commit);
        for turn in 0..args.turns {
            progress.step(&format!("running {bench}"));
            let run = |program: &Path| -> Result<_> {
                let rounds = args.rounds.to_string();
                let printed = output_of(Command::new(program).args([bench, "--rounds", &rounds]))?;
                let tables = parse_tables(&printed);
                ensure!(!tables.is_empty(), "bench {bench} prints no table with times");
                Ok(tables)
            };
            // The first of the two in turn: what a machine gets used to, and a drift, then hit both.
            let (before, after) = if turn % 2 == 0 {
                let before = run(&of_commit).with_context(|| format!("bench {bench} of {commit}"))?;
                (before, run(&of_tree)?)
            } else {
                let after = run(&of_tree)?;
                (run(&of_commit).with_context(|| format!("bench {bench} of {commit}"))?, after)
            };
            comparison.add(&before, &after);
        }
        print!("{comparison}");
    }
    Ok(())
}

/// Builds the benches of a tree, and with `with_command` the command that they start; returns the program of the
/// benches.
fn build(tree: &Path, built: &Path, with_command: bool) -> Result<PathBuf> {
    let cargo = |options: &[&str], built: &Path| {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release", "--locked", "--target-dir"]).arg(built).args(options);
        run_program(quiet_in_logs(&mut cargo).current_dir(tree))
    };
    cargo(&["--manifest-path", "bench/Cargo.toml"], built)?;
    if with_command {
        let expected = tree.join("target");
        // What is built below a checkout is removed with it.
        let kept = if tree == root() { expected.clone() } else { built.join("command") };
        cargo(&["--package", "perfset-cli"], &kept)?;
        if kept != expected {
            fs::create_dir_all(expected.join("release"))?;
            fs::copy(kept.join("release/perfset"), expected.join("release/perfset"))?;
        }
    }
    Ok(built.join("release/bench"))
}

/// Checkout of another commit, which is removed when this value is dropped.
struct Worktree {
    path: PathBuf,
}

impl Worktree {
    fn add(path: &Path, commit: &str) -> Result<Self> {
        let tree = Self { path: path.to_owned() };
        tree.remove(); // that of a run that was interrupted
        run_program(tree.git("add").args(["--detach", "--force"]).arg(path).arg(commit))?;
        Ok(tree)
    }

    fn git(&self, action: &str) -> Command {
        let mut git = Command::new("git");
        git.args(["worktree", action]).current_dir(root()).stdout(std::process::Stdio::null());
        git.stderr(std::process::Stdio::null());
        git
    }

    fn remove(&self) {
        // Fails if there is none, which is what is wanted.
        let _ = self.git("remove").args(["--force", "--force"]).arg(&self.path).status();
        let _ = fs::remove_dir_all(&self.path);
        let _ = self.git("prune").status();
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        self.remove();
    }
}
