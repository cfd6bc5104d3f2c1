//! Checks of the Debian packages and the archive, used in a minimal Debian as users do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::owned::Folder;
use crate::dist::{Args, Format, processor, run as pack};
use crate::install::version;
use crate::repository::{output_of, root as root_of_repository, run as run_program, target};

/// File name of the archive with the minimal Debian 12, which is made once.
const DEBIAN: &str = "debian-root.tar";

/// Version of the older packages that the check upgrades.
const BEFORE: &str = "0.1.9";

/// Changed files of a machine that do not count as left behind by a package: temporary files, and notes of dpkg and of
/// programs that it runs.
const NOT_OURS: [&str; 9] = [
    "/etc/.pwd.lock",
    "/etc/group",
    "/etc/gshadow",
    "/etc/ld.so.cache",
    "/tmp",
    "/var/cache",
    "/var/lib/apt",
    "/var/lib/dpkg",
    "/var/log",
];

/// Makes the minimal Debian from Debian's packages, unless it is there.
pub fn build() -> Result<()> {
    let archive = target().join(DEBIAN);
    if archive.exists() {
        return Ok(());
    }
    let begun = archive.with_extension("new.tar");
    let mut make = Command::new("mmdebstrap");
    make.args(["--quiet", "--variant=apt", "--include=passwd,libcap2-bin", "bookworm"]).arg(&begun);
    output_of(&mut make).context("the minimal Debian needs root and the Debian package mmdebstrap")?;
    fs::rename(begun, archive).context("cannot name the minimal Debian")
}

/// Checks that the archive and the Debian packages install, upgrade and leave nothing except recordings. With `full`,
/// checks the wheel, the image and the packages' rules too, and that a commit always gives the same packages.
pub fn check(full: bool) -> Result<String> {
    let folder = Folder::new("packages")?;
    let (new, old) = (folder.0.join("new"), folder.0.join("old"));
    let always = [Format::Tar, Format::Deb, Format::LibraryDeb];
    packed(&old, &[Format::Deb], Some(BEFORE.to_owned()))?;
    packed(&new, if full { &[] } else { &always }, None)?;
    output_of(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&new))?;
    let debian = Debian::new(&folder.0)?;
    let before = debian.files()?;
    debian.upgraded(&old, &new)?;
    debian.removed(&before)?;
    debian.archive(&new)?;
    if full {
        wheel(&folder.0, &new)?;
        image(&folder.0, &new)?;
        repeated(&folder.0, &new)?;
        checked_by_lintian(&new)?;
    }
    let mut sizes = Vec::new();
    for package in fs::read_dir(&new)? {
        let package = package?;
        sizes.push(format!("{} {}", package.file_name().to_string_lossy(), package.metadata()?.len()));
    }
    sizes.sort();
    Ok(format!(": bytes of {}", sizes.join(", ")))
}

/// Packs what the release build has built into a directory: the packages `only`, or all if there are none.
fn packed(out: &Path, only: &[Format], as_version: Option<String>) -> Result<()> {
    let (profile, out, only) = ("release".to_owned(), Some(out.to_owned()), only.to_vec());
    pack(&Args { out, profile, only, windows: false, as_version, level: 1 })
}

/// Packs the commit again, and checks that the packages are the same.
fn repeated(folder: &Path, new: &Path) -> Result<()> {
    let again = folder.join("again");
    packed(&again, &[Format::Tar, Format::Deb], None)?;
    let sums = |out: &Path| fs::read_to_string(out.join("SHA256SUMS")).context("SHA256SUMS");
    let (all, repeated) = (sums(new)?, sums(&again)?);
    let differs = repeated.lines().find(|line| !all.contains(line));
    ensure!(differs.is_none(), "packages of one commit differ: {differs:?}\n{all}");
    Ok(())
}

/// Checks the Debian packages by the rules of Debian's own program.
fn checked_by_lintian(new: &Path) -> Result<()> {
    let packages = fs::read_dir(new)?.flatten().map(|entry| entry.path());
    // The archive for static linking has 117,000 sections, which lintian reads for minutes.
    let is_checked = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".deb") && !name.contains("-dev_")
    };
    let packages = packages.filter(is_checked);
    output_of(Command::new("lintian").args(["--fail-on", "error"]).args(packages))?;
    Ok(())
}

/// Installs the Python wheel in an environment of its own, and runs its command.
fn wheel(folder: &Path, new: &Path) -> Result<()> {
    let environment = folder.join("python");
    output_of(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(&environment))?;
    let wheel = fs::read_dir(new)?.flatten().map(|entry| entry.path());
    let wheel = wheel.filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    let mut pip = Command::new(environment.join("bin/pip"));
    output_of(pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-index"]).args(wheel))?;
    let said = output_of(Command::new(environment.join("bin/perfset")).args(["100ms", "1"]))?;
    ensure!(said.contains("\ncpu "), "the wheel's command shows {said:?}");
    Ok(())
}

/// Unpacks the container image by its index, as a container engine does, and runs its command with nothing else.
fn image(folder: &Path, new: &Path) -> Result<()> {
    let (layout, root) = (folder.join("layout"), folder.join("image"));
    fs::create_dir(&layout)?;
    fs::create_dir(&root)?;
    let name = format!("perfset-{}-{}-image.tar", version()?, processor()?.rust);
    run_program(Command::new("tar").arg("-xf").arg(new.join(name)).arg("-C").arg(&layout))?;
    let read = |path: &str| -> Result<serde_json::Value> {
        let bytes = fs::read(layout.join(path)).with_context(|| path.to_owned())?;
        Ok(serde_json::from_slice(&bytes)?)
    };
    let blob = |descriptor: &serde_json::Value| -> Result<String> {
        let digest = descriptor["digest"].as_str().context("a descriptor has a digest")?;
        Ok(format!("blobs/{}", digest.replace(':', "/")))
    };
    let manifest = read(&blob(&read("index.json")?["manifests"][0])?)?;
    let config = read(&blob(&manifest["config"])?)?;
    run_program(
        Command::new("tar").arg("-xzf").arg(layout.join(blob(&manifest["layers"][0])?)).arg("-C").arg(&root),
    )?;
    let host = root.join("host");
    for (below, of) in [("proc", "/proc"), ("sys", "/sys")] {
        fs::create_dir_all(host.join(below))?;
        ensure!(Path::new(of).is_dir(), "{of} is missing");
    }
    let program = config["config"]["Entrypoint"][0].as_str().context("the image has an entry point")?;
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "sh", "-e", "-c"]);
    inside.arg(
        "cd \"$0\"; mount --bind /proc host/proc; mount --bind /sys host/sys; exec chroot . \"$1\" 100ms 1",
    );
    inside.arg(&root).arg(program).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    for setting in config["config"]["Env"].as_array().context("the image has an environment")? {
        let (name, value) = setting.as_str().and_then(|text| text.split_once('=')).context("NAME=VALUE")?;
        if name != "PATH" {
            inside.env(name, value);
        }
    }
    let said = output_of(&mut inside)?;
    ensure!(said.contains("\ncpu "), "the image's command shows {said:?}");
    let repository = root_of_repository();
    let version = version()?;
    for file in ["container/compose.yaml", "kubernetes/perfset.yaml"] {
        let text = fs::read_to_string(repository.join("packaging").join(file))?;
        let names =
            [format!("image: perfset:{version} #"), format!("image: perfset:${{VERSION:-{version}}}\n")];
        ensure!(names.iter().any(|name| text.contains(name)), "{file} names another version than {version}");
        let mut python = Command::new("/usr/bin/python3");
        python.arg(repository.join("xtask/src/live/container.py"));
        python.arg(repository.join("packaging").join(file)).arg(&root);
        output_of(&mut python).with_context(|| file.to_owned())?;
    }
    Ok(())
}

/// Minimal Debian in a directory, in which packages are tested.
struct Debian {
    root: PathBuf,
}

impl Debian {
    fn new(folder: &Path) -> Result<Self> {
        let archive = target().join(DEBIAN);
        let root = folder.join("debian");
        fs::create_dir(&root)?;
        run_program(
            Command::new("tar").args(["--extract", "--file"]).arg(&archive).arg("--directory").arg(&root),
        )?;
        Ok(Self { root })
    }

    /// Runs a shell script inside the minimal Debian, with namespaces of its own. Nothing outside is changed, and no
    /// process stays.
    fn run(&self, script: &str) -> Result<String> {
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "sh", "-c"]);
        let mounts = "cd \"$0\" && mount -t proc proc proc && mount -t sysfs sys sys";
        inside.arg(format!("{mounts} && exec chroot . sh -e -c \"$1\" 2>&1"));
        inside
            .arg(&self.root)
            .arg(script)
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LC_ALL", "C.UTF-8");
        let output = inside.output().context("cannot start unshare (Debian package util-linux)")?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{script}: {}\n{said}", output.status);
        Ok(said.into_owned())
    }

    /// Copies packages into the directory `/packages` of the minimal Debian.
    fn receive(&self, out: &Path) -> Result<()> {
        let inside = self.root.join("packages");
        fs::create_dir_all(&inside)?;
        for package in fs::read_dir(out)? {
            let package = package?.path();
            fs::copy(&package, inside.join(package.file_name().context("a package has a name")?))?;
        }
        Ok(())
    }

    /// Returns the paths of all files and directories in the minimal Debian.
    fn files(&self) -> Result<BTreeSet<String>> {
        let mut find = Command::new("find");
        find.arg(&self.root).args(["-xdev", "-printf", "/%P\\n"]);
        let ours = |path: &&str| !NOT_OURS.iter().any(|not| path.starts_with(not));
        Ok(output_of(&mut find)?.lines().filter(ours).map(str::to_owned).collect())
    }

    /// Installs the older packages in the minimal Debian, uses them, changes an option, and upgrades.
    fn upgraded(&self, old: &Path, new: &Path) -> Result<()> {
        let (architecture, version) = (processor()?.debian, version()?);
        self.receive(old)?;
        let deb = |name: &str, version: &str| format!("/packages/{name}_{version}_{architecture}.deb");
        self.run(&format!("apt-get install --yes --quiet {}", deb("perfset", BEFORE)))?;
        let overview = self.run("perfset 100ms 1")?;
        ensure!(overview.contains("\ncpu ") && overview.contains("\nmem "), "it shows {overview:?}");
        self.run(
            "getent group perfset && test -s /usr/share/man/man1/perfset-record.1.gz && \
             test -s /usr/share/bash-completion/completions/perfset && \
             test -s /lib/systemd/system/perfset-record.service && \
             perfset record --dir /var/lib/perfset cpu mem 100ms 5 && \
             echo 'OPTIONS=\"--keep 9GB\"' >/etc/default/perfset-record",
        )?;
        self.receive(new)?;
        self.run(&format!(
            "apt-get install --yes --quiet {} {}",
            deb("perfset", &version),
            deb("libperflib0", &version)
        ))?;
        let shown = self.run("cat /etc/default/perfset-record; dpkg-query --show perfset libperflib0")?;
        ensure!(shown.contains("--keep 9GB"), "a changed option is lost: {shown}");
        ensure!(shown.matches(&version).count() == 2, "not upgraded: {shown}");
        self.run("ldconfig -p | grep libperflib.so.0")?;
        // The recorder goes on in the directory of the version before.
        self.run("perfset record --dir /var/lib/perfset cpu mem 100ms 5")?;
        let rows =
            self.run(r"perfset get '\Memory\Available Bytes' --log /var/lib/perfset --format json | wc -l")?;
        ensure!(rows.trim().parse::<u32>()? >= 10, "the recording of both versions has {rows:?} rows");
        let broken = self.run("dpkg --verify perfset libperflib0 || true")?;
        // The option that was changed is the only file that differs from its package.
        let differing = broken.lines().filter(|line| !line.contains("/etc/default/perfset-record"));
        ensure!(differing.count() == 0, "installed files differ from the packages': {broken}");
        Ok(())
    }

    /// Removes and purges the packages in the minimal Debian, and checks what is left.
    fn removed(&self, before: &BTreeSet<String>) -> Result<()> {
        self.run("dpkg --remove perfset libperflib0")?;
        ensure!(self.root.join("etc/default/perfset-record").exists(), "removing deletes options");
        let said = self.run("dpkg --purge perfset libperflib0; rm -r /packages")?;
        ensure!(said.contains("recordings stay in /var/lib/perfset"), "purging says {said:?}");
        let left: Vec<String> = self.files()?.difference(before).cloned().collect();
        let other = left.iter().find(|path| !path.starts_with("/var/lib/perfset"));
        ensure!(!left.is_empty(), "the recordings are gone");
        match other {
            Some(other) => bail!("{other} stays after purging"),
            None => Ok(()),
        }
    }

    /// Unpacks the archive of the command in the minimal Debian, and runs the command.
    fn archive(&self, new: &Path) -> Result<()> {
        self.receive(new)?;
        let name = format!("perfset-{}-{}-linux", version()?, processor()?.rust);
        let overview =
            self.run(&format!("cd /opt && tar -xzf /packages/{name}.tar.gz && {name}/bin/perfset 100ms 1"));
        ensure!(overview?.contains("\ncpu "), "the archive's command shows no overview");
        Ok(())
    }
}
