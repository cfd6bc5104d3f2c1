//! Paths of the repository, and functions that run other programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// Returns the root directory of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/")).to_owned()
}

/// Returns Cargo's target directory, where chores keep files that can be built again.
pub fn target() -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(chosen.unwrap_or_else(|| "target".into()))
}

/// Returns the name of the directory in which Cargo builds programs with a profile.
pub fn profile_directory(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// Runs a program to its end, and returns an error if it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {name}"))?;
    if !status.success() {
        bail!("{name} failed: {status}");
    }
    Ok(())
}

/// Runs a program to its end and returns its standard output.
pub fn output_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        let (printed, said) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{name} {} failed: {}\n{printed}{said}", args.join(" "), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{name} did not print text"))
}

/// Crate of the workspace, as `cargo metadata` describes it.
#[derive(Deserialize)]
pub struct Package {
    /// Name of the crate in its manifest.
    pub name: String,
    /// Path of the crate's manifest.
    pub manifest_path: PathBuf,
    /// Features of the crate, each with the features that it turns on.
    pub features: BTreeMap<String, Vec<String>>,
    /// Oldest compiler that the crate's manifest promises.
    #[serde(default)]
    pub rust_version: Option<String>,
}

impl Package {
    /// Returns the directory of the crate's manifest.
    pub fn directory(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// Returns the crates of the workspace that are published.
    pub fn published() -> Result<Vec<Self>> {
        let mut metadata = Command::new("cargo");
        metadata.args(["metadata", "--no-deps", "--format-version", "1", "--locked"]).current_dir(root());
        published(&output_of(&mut metadata)?)
    }
}

/// Parses a description by `cargo metadata`, and returns the published crates.
fn published(metadata: &str) -> Result<Vec<Package>> {
    const UNEXPECTED: &str = "cargo metadata does not list packages";
    let metadata: serde_json::Value = serde_json::from_str(metadata).context(UNEXPECTED)?;
    let packages = metadata.get("packages").and_then(|packages| packages.as_array()).context(UNEXPECTED)?;
    // A crate that is not published has an empty list of registries.
    let is_published = |package: &&serde_json::Value| {
        let registries = package.get("publish").and_then(|publish| publish.as_array());
        registries.is_none_or(|registries| !registries.is_empty())
    };
    packages.iter().filter(is_published).map(|package| Ok(Package::deserialize(package)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_crates() {
        let metadata = r#"{"packages": [
            {"name": "a", "manifest_path": "a/Cargo.toml", "features": {}, "publish": null},
            {"name": "b", "manifest_path": "b/Cargo.toml", "features": {"x": ["y"], "y": []}, "publish": ["registry"]},
            {"name": "chores", "features": {}, "publish": []}
        ]}"#;
        let packages = published(metadata).unwrap();
        let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(packages[1].features["x"], ["y"]);
        assert_eq!(packages[1].directory(), Path::new("b"));
        assert!(published("{}").is_err());
    }
}
