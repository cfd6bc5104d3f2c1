//! SQLite files as the output of `relog`: opens them safely.

use std::io;

use anyhow::anyhow;
use perfset::log::Existing;
#[cfg(feature = "sqlite")]
use perfset::log::sql::{LogSet, SqlError, SqlWriter};
use perfset::log::text::Zone;
use perfset::output::Output;
#[cfg(feature = "sqlite")]
use perfset::output::SqlLog;

use crate::destination::{Destination, HeldFile};
use crate::exit::{Exit, Failure};

/// Opens a SQLite file as output, and starts a log set in it. Returns the output, and the new file if it is one.
#[cfg(feature = "sqlite")]
pub fn open(
    file: &Destination,
    name: &str,
    zone: Zone,
    existing: Existing,
) -> Result<(Box<dyn Output>, Option<HeldFile>), Failure> {
    let log_set = LogSet::new(name, zone);
    let database = if existing == Existing::Append { file.existing()? } else { None };
    let is_new = database.is_none();
    let (writer, held) = match database {
        Some((path, held)) => {
            // SQLite replays a journal beside the database, even if another user created it.
            file.refuse_foreign_folder(
                "other users can create files in its directory, and SQLite reads journals beside a database: \
                 append to a file in a directory of your own",
            )?;
            (SqlWriter::extend(&path, file.name(), log_set), held)
        }
        None => {
            let error = || anyhow!("a SQLite file must be a regular file: use -o FILE.db");
            let (path, held) = file.part()?.ok_or_else(|| Failure::new(Exit::Usage, error()))?;
            (SqlWriter::fill(&path, file.name(), log_set), held)
        }
    };
    let writer = writer.map_err(failed)?;
    // SQLite opens files by path, so it might have opened another file than the one that was examined.
    held.check_open().map_err(|error| file.failed(error))?;
    Ok((Box::new(SqlLog::new(writer)), is_new.then_some(held)))
}

/// Fails, because this build cannot write SQLite files.
#[cfg(not(feature = "sqlite"))]
pub fn open(
    _: &Destination,
    _: &str,
    _: Zone,
    _: Existing,
) -> Result<(Box<dyn Output>, Option<HeldFile>), Failure> {
    let error = anyhow!("this perfset is built without SQLite: build it with the feature sqlite");
    Err(Failure::new(Exit::Usage, error))
}

/// Returns the failure for an error of an output, which may be an error of SQLite.
pub fn failure(error: io::Error) -> Failure {
    #[cfg(feature = "sqlite")]
    let error = match error.downcast::<SqlError>() {
        Ok(error) => return failed(error),
        Err(error) => error,
    };
    error.into()
}

#[cfg(feature = "sqlite")]
fn failed(error: SqlError) -> Failure {
    let exit = match &error {
        SqlError::Exists { .. } | SqlError::Taken { .. } => Exit::Usage,
        _ => Exit::SourceFailed,
    };
    Failure::escaped(exit, error)
}
