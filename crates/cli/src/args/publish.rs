//! Arguments of `perfset manifest` and `perfset provider`.

use std::path::PathBuf;

use clap::Subcommand;

use super::ListOutput;
use crate::examples;

/// Check manifests of countersets, generate code from them, export them
///
/// A provider declares its countersets in an instrumentation manifest, an XML file, as on Windows.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, after_long_help = examples::MANIFEST)]
pub struct ManifestArgs {
    #[command(subcommand)]
    pub command: ManifestCommand,
}

#[derive(Debug, Subcommand)]
pub enum ManifestCommand {
    Check(ManifestCheckArgs),
    Generate(ManifestGenerateArgs),
    Export(ManifestExportArgs),
}

/// Report all errors and warnings of manifests, with line and column
///
/// If there are only warnings, the exit code is 0.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::MANIFEST_CHECK)]
pub struct ManifestCheckArgs {
    /// Manifests to check; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub output: ListOutput,
}

/// Generate code from a manifest, as CTRPP does on Windows
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::MANIFEST_GENERATE)]
pub struct ManifestGenerateArgs {
    /// Manifest to read; - is standard input
    pub file: PathBuf,
    #[command(flatten)]
    pub code: Code,
    /// Prefix for the names of functions, variables and types
    #[arg(long, value_name = "PREFIX", default_value = "")]
    pub prefix: String,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Output of `manifest generate`.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Code {
    /// Generate a Rust module with one struct per counterset
    #[arg(long)]
    pub rust: bool,
    /// Generate a C header with the provider's code, as ctrpp -o does
    #[arg(long)]
    pub c_header: bool,
    /// Generate a C header with GUIDs and ids for consumers, as ctrpp -ch does
    #[arg(long)]
    pub symbols: bool,
}

/// Write countersets of this machine as a manifest
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::MANIFEST_EXPORT)]
pub struct ManifestExportArgs {
    /// Countersets of one provider: names, unique parts of names, or GUIDs
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Install, remove and list registered providers
///
/// On Windows, lodctr and unlodctr do this. A registered provider is a manifest file in a directory.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, after_long_help = examples::PROVIDER)]
pub struct ProviderArgs {
    #[command(subcommand)]
    pub command: ProviderCommand,
}

#[derive(Debug, Subcommand)]
pub enum ProviderCommand {
    Install(ProviderInstallArgs),
    Remove(ProviderRemoveArgs),
    List(ProviderListArgs),
}

/// Directory of registered providers.
#[derive(Debug, clap::Args)]
pub struct ProviderFolder {
    /// Use this directory instead of those of the system, for packages
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Register the providers of manifests, for all users as root, else for one user
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::PROVIDER_INSTALL)]
pub struct ProviderInstallArgs {
    /// Manifests to install; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub folder: ProviderFolder,
}

/// Remove registered providers, or single countersets of them
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::PROVIDER_REMOVE)]
pub struct ProviderRemoveArgs {
    /// GUID or name of a provider, GUID of a counterset, or a manifest file (*.man)
    #[arg(required = true, value_name = "PROVIDER")]
    pub what: Vec<String>,
    #[command(flatten)]
    pub folder: ProviderFolder,
}

/// List registered providers, and files that are ignored
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::PROVIDER_LIST)]
pub struct ProviderListArgs {
    #[command(flatten)]
    pub output: ListOutput,
    #[command(flatten)]
    pub folder: ProviderFolder,
}
