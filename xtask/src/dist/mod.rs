//! `cargo xtask dist`: the files of a release in one directory, with their checksums.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::install::version;
use crate::repository::{output_of, root, run as run_program, target};
use crate::static_binary;

mod bill;
mod deb;
mod image;
mod stage;
mod tarball;
mod wheel;
pub mod zip;

/// Pack a release into one directory: the same files from the same commit
#[derive(clap::Args)]
pub struct Args {
    /// Directory of the packages; its content is replaced
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Cargo profile of the programs; `release` packs what `cargo build --release` has built
    #[arg(long, default_value = "dist")]
    pub profile: String,
    /// Only these packages
    #[arg(long, value_enum, value_delimiter = ',')]
    pub only: Vec<Format>,
    /// Also the archive for Windows, which needs Debian's gcc-mingw-w64-x86-64-win32, rustc-web, cargo-web and
    /// rust-web-src
    #[arg(long, conflicts_with = "only")]
    pub windows: bool,
    /// Version of the packages, for tests of upgrades
    #[arg(long, value_name = "VERSION")]
    pub as_version: Option<String>,
    /// Level of compression, 0 to 9: packages for tests need not be small
    #[arg(long, default_value_t = 9)]
    pub level: u8,
}

/// Kind of package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Archive for any Linux.
    Tar,
    /// Package of the command for Debian and its relatives.
    Deb,
    /// Packages of the C library for Debian and its relatives.
    LibraryDeb,
    /// Package for Python's pip, which carries the command.
    Wheel,
    /// Container image, as an OCI archive.
    Image,
    /// Archive for Windows: made only if requested, because it needs a second compiler.
    Zip,
}

impl Args {
    /// Returns the kinds of packages to make, in their order.
    fn formats(&self) -> Vec<Format> {
        let is_wanted = |format: &Format| match self.only.is_empty() {
            true => self.windows || *format != Format::Zip,
            false => self.only.contains(format),
        };
        Format::value_variants().iter().copied().filter(is_wanted).collect()
    }
}

/// Files and facts that all packages share.
pub struct Release {
    /// Version of the packages.
    pub version: String,
    /// Cargo profile of the programs.
    pub profile: String,
    /// Time of the commit in seconds since 1970: the time of all files, so that packages of one commit are equal.
    pub epoch: u64,
    /// Commit that the programs name; none for the profile `release`, which packs what is already built.
    pub commit: Option<String>,
    /// Level of compression.
    pub level: u8,
    /// Path of the static command, without symbols: the same file in all packages for Linux.
    pub program: PathBuf,
    /// Directory with manual pages and completions.
    pub texts: PathBuf,
    /// Directory for files on their way into packages.
    pub work: PathBuf,
    /// Directory of the packages.
    pub out: PathBuf,
}

/// Processor of the packages, in the names that each kind of package has for it.
pub struct Processor {
    /// Rust's and the kernel's name.
    pub rust: &'static str,
    /// Debian's and Go's name.
    pub debian: &'static str,
}

/// Processors that packages can be made on.
const PROCESSORS: [Processor; 2] =
    [Processor { rust: "x86_64", debian: "amd64" }, Processor { rust: "aarch64", debian: "arm64" }];

/// Returns the processor of this machine.
pub fn processor() -> Result<&'static Processor> {
    let own = PROCESSORS.iter().find(|processor| processor.rust == std::env::consts::ARCH);
    own.with_context(|| format!("there are no packages for {}", std::env::consts::ARCH))
}

/// Packs a release, and prints the packages with their sizes and times.
pub fn run(args: &Args) -> Result<()> {
    let release = Release::prepare(args)?;
    let formats = args.formats();
    let mut packages: Vec<PathBuf> = Vec::new();
    let print = |began: Instant, file: &Path, name: &str| -> Result<()> {
        let size = file.metadata().with_context(|| format!("{} is missing", file.display()))?.len();
        println!("{size:>11}  {:>5.1} s  {name}", began.elapsed().as_secs_f64());
        Ok(())
    };
    if formats.iter().any(|format| *format != Format::Zip) {
        let began = Instant::now();
        release.build_program()?;
        print(began, &release.program, "static command")?;
        packages.push(bill::of_linux(&release)?);
    }
    for format in formats {
        let began = Instant::now();
        let packed = match format {
            Format::Tar => vec![tarball::pack(&release)?],
            Format::Deb => vec![deb::command(&release)?],
            Format::LibraryDeb => vec![deb::library(&release)?, deb::development(&release)?],
            Format::Wheel => vec![wheel::pack(&release)?],
            Format::Image => vec![image::pack(&release)?],
            Format::Zip => vec![zip::pack(&release)?, bill::of_windows(&release)?],
        };
        for package in packed {
            print(began, &package, &package.file_name().unwrap_or_default().to_string_lossy())?;
            packages.push(package);
        }
    }
    write_checksums(&release.out, &packages)?;
    println!("{}", release.out.display());
    Ok(())
}

impl Release {
    fn prepare(args: &Args) -> Result<Self> {
        let version = match &args.as_version {
            Some(version) => version.clone(),
            None => version()?,
        };
        ensure!(
            version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !version.is_empty(),
            "{version:?} is no version: digits and dots"
        );
        let out = args.out.clone().unwrap_or_else(|| target().join("packages"));
        let work = target().join("dist-work");
        for folder in [&out, &work] {
            if folder.exists() {
                fs::remove_dir_all(folder).with_context(|| format!("cannot replace {}", folder.display()))?;
            }
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        // `git` knows when the files were what they are; clocks and file times do not.
        let commit = |format: &str| -> Result<String> {
            let mut git = Command::new("git");
            git.args(["-c", "safe.directory=*", "log", "-1", format]).current_dir(root());
            Ok(output_of(&mut git)?.trim().to_owned())
        };
        let epoch = commit("--format=%ct")?.parse().context("the time of the commit")?;
        // What `cargo build --release` has built is packed as it is.
        let commit = if args.profile == "release" { None } else { Some(commit("--format=%h")?) };
        let (profile, level) = (args.profile.clone(), args.level);
        let (program, texts) = (work.join("perfset"), work.join("texts"));
        Ok(Self { version, profile, epoch, commit, level, program, texts, work, out })
    }

    /// Returns the features of the command for Linux besides those of the usual build.
    fn features(&self) -> &'static str {
        if self.profile == "release" { "" } else { "parquet" }
    }

    /// Builds the static command, and makes it write its manual pages and completions.
    fn build_program(&self) -> Result<()> {
        let program = static_binary::build(&self.profile, self.features(), self.commit.as_deref())?;
        run_program(Command::new("strip").arg("-o").arg(&self.program).arg(&program))?;
        stage::texts(&self.program, &self.texts)
    }

    /// Returns a directory for the files of a package, empty.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.work.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }
}

/// Writes the checksums of the packages, in the form that `sha256sum --check` reads.
fn write_checksums(out: &Path, packages: &[PathBuf]) -> Result<()> {
    let mut names: Vec<_> = packages.iter().filter_map(|package| package.file_name()).collect();
    names.sort_unstable();
    let sums = output_of(Command::new("sha256sum").arg("--").args(names).current_dir(out))?;
    fs::write(out.join("SHA256SUMS"), sums).context("cannot write SHA256SUMS")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Dist {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn archive_for_windows_is_made_only_if_requested() {
        use Format::{Deb, Image, LibraryDeb, Tar, Wheel, Zip};
        for (options, want) in [
            (&[][..], &[Tar, Deb, LibraryDeb, Wheel, Image][..]),
            (&["--windows"], &[Tar, Deb, LibraryDeb, Wheel, Image, Zip]),
            (&["--only", "zip"], &[Zip]),
            (&["--only", "zip,tar"], &[Tar, Zip]),
            (&["--only", "deb"], &[Deb]),
        ] {
            let args = Dist::parse_from(["dist"].iter().chain(options)).args;
            assert_eq!(args.formats(), want, "{options:?}");
        }
        assert!(Dist::try_parse_from(["dist", "--only", "deb", "--windows"]).is_err());
    }
}
