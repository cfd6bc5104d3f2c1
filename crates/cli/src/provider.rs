//! `perfset provider`: registered providers, like those of lodctr and unlodctr on Windows.

use std::io::{self, Write};
use std::path::Path;

use anyhow::anyhow;
use perfset::Guid;
use perfset::manifest::Manifest;
use perfset::manifest::store::{
    IgnoreReason, IgnoredFile, Installed, RegisteredProvider, Removal, Removed, Store, StoreError,
    install_folder, system_folders,
};
use perfset::output::text::escaped;
use serde::Serialize;

use crate::args::{
    ProviderArgs, ProviderCommand, ProviderFolder, ProviderInstallArgs, ProviderListArgs, ProviderRemoveArgs,
};
use crate::destination::refuse_foreign_links;
use crate::exit::{Exit, Failure};
use crate::manifest::{read, tell};
use crate::records::{ListRecord, RecordWriter};

pub fn run(args: &ProviderArgs) -> Result<Exit, Failure> {
    let folder = match &args.command {
        ProviderCommand::Install(args) => &args.folder,
        ProviderCommand::Remove(args) => &args.folder,
        ProviderCommand::List(args) => &args.folder,
    };
    if cfg!(windows) && folder.dir.is_none() {
        let error = anyhow!(
            "Windows registers providers itself: lodctr /m:FILE and unlodctr /m:FILE\n  perfset list shows what is \
             registered; --dir DIR keeps manifests in a directory"
        );
        return Err(Failure::new(Exit::Usage, error));
    }
    match &args.command {
        ProviderCommand::Install(args) => install(args),
        ProviderCommand::Remove(args) => remove(args),
        ProviderCommand::List(args) => list(args),
    }
}

fn store(folder: &ProviderFolder) -> Store {
    Store::new(folder.dir.clone().map_or_else(|| system_folders(true), |dir| vec![dir]))
}

fn install(args: &ProviderInstallArgs) -> Result<Exit, Failure> {
    let folder = args.folder.dir.clone().or_else(install_folder).ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            anyhow!("no home directory to install the manifest in: choose a directory with --dir DIR"),
        )
    })?;
    // Root often runs this: a link of another user could lead the manifest anywhere.
    refuse_foreign_links(&folder)?;
    let mut store = store(&args.folder);
    let mut out = io::stdout().lock();
    for file in &args.files {
        let installed = store.install(&read(file)?, &folder).map_err(|error| failed(file, error))?;
        match installed {
            Installed::New(place) => writeln!(out, "installed {}", shown(&place))?,
            Installed::Before(place) => writeln!(out, "already installed: {}", shown(&place))?,
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn remove(args: &ProviderRemoveArgs) -> Result<Exit, Failure> {
    args.folder.dir.as_deref().map_or(Ok(()), refuse_foreign_links)?;
    let mut store = store(&args.folder);
    let mut out = io::stdout().lock();
    for what in &args.what {
        let file = Path::new(what);
        let removal = match what.parse::<Guid>() {
            Ok(guid) => Removal::Guid(guid),
            Err(_) if file.extension().is_some_and(|ending| ending == "man") => {
                // Only the GUID of the file counts: the registered manifest may be another version.
                let manifest = Manifest::parse(&read(file)?);
                let manifest = manifest.map_err(|problems| failed(file, StoreError::Broken(problems)))?;
                Removal::Guid(manifest.provider.guid)
            }
            Err(_) => Removal::Name(what.clone()),
        };
        match store.remove(&removal).map_err(|error| failed(file, error))? {
            Removed::Provider(place) => writeln!(out, "removed {}", shown(&place))?,
            Removed::Counterset(place) => writeln!(out, "removed the counterset from {}", shown(&place))?,
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn failed(what: &Path, error: StoreError) -> Failure {
    let exit = match &error {
        StoreError::Broken(problems) => {
            // Standard error is the last place to report to, so a failure of it is ignored.
            let _ = tell(&mut io::stderr(), what, problems);
            return Failure::new(Exit::InvalidData, anyhow!("{} has errors", shown(what)));
        }
        StoreError::NotFound | StoreError::Several(_) => Exit::NothingMatched,
        _ => Exit::SourceFailed,
    };
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::new(exit, anyhow!("{}: {}", shown(what), escaped(&format!("{error}{cause}"))))
}

fn list(args: &ProviderListArgs) -> Result<Exit, Failure> {
    let mut store = store(&args.folder);
    store.refresh();
    if let Some(records) = RecordWriter::stdout(args.output.format()) {
        let good = store.list().iter().map(RegistrationJson::good);
        records.all(good.chain(store.ignored().iter().map(RegistrationJson::ignored)))?;
        return Ok(Exit::Ok);
    }
    let mut out = io::stdout().lock();
    show(&mut out, &store)?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn show(out: &mut impl Write, store: &Store) -> io::Result<()> {
    for RegisteredProvider { file, manifest, countersets } in store.list() {
        writeln!(out, "{}  {:?}", escaped(&manifest.provider.name), manifest.provider.guid)?;
        writeln!(out, "  {}", shown(file))?;
        for set in countersets {
            writeln!(out, "  {}  {:?}", escaped(&set.name), set.guid)?;
        }
    }
    for ignored in store.ignored() {
        writeln!(out, "ignored  {}", escaped(&reason(ignored)))?;
    }
    match (store.list().len(), store.ignored().len()) {
        (0, 0) => writeln!(out, "no provider is registered; perfset provider install FILE registers one"),
        _ => Ok(()),
    }
}

/// Returns a text about a file that registers no provider: its path, the line if known, and the reason.
pub fn reason(ignored: &IgnoredFile) -> String {
    let between = if matches!(ignored.why, IgnoreReason::Broken(_)) { ":" } else { ": " };
    format!("{}{between}{}", ignored.file.display(), ignored.why)
}

fn shown(file: &Path) -> String {
    escaped(&file.display().to_string())
}

/// Fields of a registered provider's file, in the order in which CSV and JSON contain them.
#[derive(Serialize)]
struct RegistrationJson {
    file: String,
    provider: Option<String>,
    guid: Option<String>,
    countersets: Vec<CountersetLine>,
    ignored: Option<String>,
}

impl ListRecord for RegistrationJson {
    const CSV_HEADER: &'static str = "file,provider,guid,countersets,ignored";
}

#[derive(Serialize)]
struct CountersetLine {
    guid: String,
    name: String,
}

impl RegistrationJson {
    fn new(file: &Path) -> Self {
        let file = file.display().to_string();
        Self { file, provider: None, guid: None, countersets: Vec::new(), ignored: None }
    }

    fn good(found: &RegisteredProvider) -> Self {
        let provider = &found.manifest.provider;
        let countersets = found
            .countersets
            .iter()
            .map(|set| CountersetLine { guid: set.guid.to_string(), name: set.name.to_string() });
        Self {
            provider: Some(provider.name.clone()),
            guid: Some(provider.guid.to_string()),
            countersets: countersets.collect(),
            ..Self::new(&found.file)
        }
    }

    fn ignored(ignored: &IgnoredFile) -> Self {
        Self { ignored: Some(reason(ignored)), ..Self::new(&ignored.file) }
    }
}
