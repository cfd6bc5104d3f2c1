//! `cargo xtask features`: each crate builds without features, and with each of its features alone.
//!
//! A build of the workspace has the features of all crates at once. Users choose, so an item that only compiles
//! because another crate needs a feature is found here.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::repository::{output_of, root};

/// Check each crate without features, and with each of its features alone
#[derive(clap::Args)]
pub struct Args {
    /// Only crates whose names contain this
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
}

/// The part of Cargo's description of a workspace that lists features.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A crate of the workspace.
#[derive(Deserialize)]
struct Package {
    name: String,
    /// Names of features, with the features that each turns on.
    features: BTreeMap<String, Vec<String>>,
    /// Registries that accept the crate: an empty list for a crate that is not published.
    publish: Option<Vec<String>>,
}

/// Runs the chore.
pub fn run(args: &Args) -> Result<()> {
    let mut metadata = Command::new("cargo");
    metadata.args(["metadata", "--no-deps", "--format-version", "1", "--locked"]).current_dir(root());
    let sets = sets(&output_of(&mut metadata)?)?;
    let wanted = sets.iter().filter(|(name, _)| args.only.as_ref().is_none_or(|only| name.contains(only)));
    let (mut count, mut failed) = (0_usize, 0_usize);
    for (name, feature) in wanted {
        let mut clippy = Command::new("cargo");
        clippy.args(["clippy", "--quiet", "--locked", "--package", name, "--no-default-features"]);
        clippy.args(feature.iter().flat_map(|feature| ["--features", feature]));
        count += 1;
        if let Err(error) = output_of(clippy.args(["--", "-D", "warnings"]).current_dir(root())) {
            failed += 1;
            println!("FAIL {name} with {}: {error:#}", feature.as_deref().unwrap_or("no feature"));
        }
    }
    match (count, failed) {
        (0, _) => bail!("no crate has such a name"),
        (_, 0) => println!("{count} sets of features build"),
        _ => bail!("{failed} of {count} sets of features do not build"),
    }
    Ok(())
}

/// Returns the sets to build: each published crate without features, then with each one.
fn sets(metadata: &str) -> Result<Vec<(String, Option<String>)>> {
    let metadata: Metadata =
        serde_json::from_str(metadata).context("cargo metadata prints something else")?;
    let mut sets = Vec::new();
    for package in metadata.packages {
        if package.publish.is_some_and(|registries| registries.is_empty()) {
            continue;
        }
        sets.push((package.name.clone(), None));
        let features = package.features.into_keys().filter(|feature| feature != "default");
        sets.extend(features.map(|feature| (package.name.clone(), Some(feature))));
    }
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_a_set() {
        let metadata = r#"{"packages": [
            {"name": "a", "features": {}, "publish": null},
            {"name": "b", "features": {"default": ["y"], "x": [], "y": ["x"]}, "publish": ["registry"]},
            {"name": "chores", "features": {"z": []}, "publish": []}
        ]}"#;
        let set = |name: &str, feature: Option<&str>| (name.to_owned(), feature.map(str::to_owned));
        let want = [set("a", None), set("b", None), set("b", Some("x")), set("b", Some("y"))];
        assert_eq!(sets(metadata).unwrap(), want);
        assert!(sets("{}").is_err());
    }
}
