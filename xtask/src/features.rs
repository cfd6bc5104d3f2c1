//! `cargo xtask features`: each crate builds without features, and with `--full` with each of its features alone.
//!
//! A build of the workspace has the features of all crates at once. Users choose, so an item that only compiles
//! because another crate needs a feature is found here.

use std::process::Command;

use anyhow::{Result, bail};

use crate::progress::Progress;
use crate::repository::{Package, output_of, root};

/// Check each crate without features
#[derive(clap::Args)]
pub struct Args {
    /// Check each crate with each of its features alone, too
    #[arg(long)]
    full: bool,
    /// Only crates whose names contain this
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
}

/// Checks each crate without features, and in a full check with each of its features alone.
pub fn run(args: &Args) -> Result<()> {
    let sets = sets(&Package::published()?, args.full);
    let wanted = sets.iter().filter(|set| args.only.as_ref().is_none_or(|only| set[0].contains(only)));
    let wanted: Vec<_> = wanted.collect();
    let mut progress = Progress::new(wanted.len());
    let (mut count, mut failed) = (0_usize, 0_usize);
    for set in wanted {
        let mut clippy = Command::new("cargo");
        clippy.args(["clippy", "--quiet", "--locked"]).args(set).args(["--", "-D", "warnings"]);
        count += 1;
        progress.step(&set.join(" "));
        if let Err(error) = output_of(clippy.current_dir(root())) {
            failed += 1;
            println!("FAIL {error:#}");
        }
    }
    match (count, failed) {
        (0, _) => bail!("no crate has such a name"),
        (_, 0) => println!("{count} sets of features build"),
        _ => bail!("{failed} of {count} sets of features do not build"),
    }
    Ok(())
}

/// Returns the options of Cargo for each check of features: each crate without features, then in a full check with
/// each of its features alone. Each of these checks many crates again.
fn sets(packages: &[Package], is_full: bool) -> Vec<Vec<String>> {
    let mut sets = Vec::new();
    for package in packages {
        let alone = vec![format!("--package={}", package.name), "--no-default-features".to_owned()];
        let is_wanted = |feature: &&String| is_full && *feature != "default";
        let features = package.features.keys().filter(is_wanted);
        let with = |feature: &String| [&alone[..], &[format!("--features={feature}")]].concat();
        let with_each: Vec<_> = features.map(with).collect();
        sets.push(alone);
        sets.extend(with_each);
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_a_set() {
        let features = |all: &[&str]| all.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
        let package = |name: &str, all: &[&str]| Package {
            name: name.to_owned(),
            manifest_path: "Cargo.toml".into(),
            features: features(all),
            rust_version: None,
        };
        let packages = [package("a", &[]), package("b", &["default", "x", "y"])];
        let want = [
            "--package=a --no-default-features",
            "--package=b --no-default-features",
            "--package=b --no-default-features --features=x",
            "--package=b --no-default-features --features=y",
        ];
        let printed = |is_full| sets(&packages, is_full).iter().map(|set| set.join(" ")).collect::<Vec<_>>();
        assert_eq!(printed(true), want);
        assert_eq!(printed(false), want[..2]);
    }
}
