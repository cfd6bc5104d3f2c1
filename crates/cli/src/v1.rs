//! `perfset v1`: prints blocks of the V1 performance data format.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::anyhow;
use perfset::output::NumberForm;
use perfset::output::text::{NAME_MAX, cut, escaped, name_of};
use perfset::path::{CounterPath, PathQuery};
use perfset::v1::{
    BlockProblem, Blocks, Contents, DataBlock, Instance, NameTable, Object, TitleNames, ValueName,
    query as answer, read, windows_names,
};
use perfset::visit::Mode;
use perfset::{Counterset, Guid, Language, NextOutcome, SourceError};

use crate::args::{V1Args, V1Command, V1NamesArgs, V1QueryArgs, V1ValuesArgs};
use crate::destination::write;
use crate::exit::{Exit, Failure};
use crate::input::{self, is_dash};
use crate::printer::{PrintOptions, ValuePrinter};
use crate::resolve::countersets;

pub fn run(args: &V1Args) -> Result<Exit, Failure> {
    match &args.command {
        V1Command::Query(args) => query(args),
        V1Command::Names(args) => names(args),
        V1Command::Values(args) => values(args),
    }
}

/// Writes this machine's V1 block, as a query of HKEY_PERFORMANCE_DATA returns it.
fn query(args: &V1QueryArgs) -> Result<Exit, Failure> {
    let text = args.value_name.join(" ");
    let name: ValueName =
        text.parse().map_err(|error| Failure::new(Exit::Usage, anyhow!(escaped(&format!("{error}")))))?;
    let usage = |text: &'static str| Err(Failure::new(Exit::Usage, anyhow!(text)));
    let to_stdout = args.output.as_deref().is_none_or(is_dash);
    let names_to_stdout = args.names.as_deref().is_some_and(is_dash);
    if (to_stdout || names_to_stdout) && io::stdout().is_terminal() {
        return usage("the block is not text; -o FILE writes it to a file");
    }
    if to_stdout && names_to_stdout {
        return usage("the block and the name table cannot both go to standard output");
    }
    args.processes.apply()?;
    let machine = perfset::local();
    let failed = |error: SourceError| match error {
        SourceError::LanguageNotFound(_) => Failure::new(Exit::NothingMatched, error),
        error => Failure::new(Exit::SourceFailed, error),
    };
    let found = answer(&machine, &name, &perfset::computer_name()).map_err(failed)?;
    write(args.output.as_deref(), &found.bytes)?;
    if let Some(file) = &args.names {
        let names = ValueName::Names(Language::ENGLISH);
        write(Some(file), &answer(&machine, &names, &perfset::computer_name()).map_err(failed)?.bytes)?;
    }
    for left_out in &found.left_out {
        warn(&left_out.to_string());
    }
    let is_empty = matches!(name, ValueName::Objects(_))
        && DataBlock::parse(&found.bytes).is_ok_and(|block| block.object_count() == 0);
    if is_empty {
        let error = anyhow!("no object has such a title index; the block is empty");
        return Err(Failure::new(Exit::NothingMatched, error));
    }
    Ok(Exit::Ok)
}

/// Prints the objects, instances and counters of a V1 block with their offsets, or the texts of a name table.
fn names(args: &V1NamesArgs) -> Result<Exit, Failure> {
    let bytes = input::read_data(&args.file)?;
    let mut out = BufWriter::new(io::stdout().lock());
    if !DataBlock::is_one(&bytes) {
        let table = table(&args.file, &bytes)?;
        for (index, text) in table.iter() {
            writeln!(out, "{index:>8}  {}", escaped(text))?;
        }
        out.flush()?;
        return Ok(Exit::Ok);
    }
    let names = names_for(args.names.as_deref())?;
    let (block, forgiven) = read(&bytes, mode(args.lenient))
        .map_err(|error| not_valid(&args.file, has_header(&bytes), &error))?;
    writeln!(out, "{:>8}  {:9} {:>7}  name", "offset", "what", "index")?;
    for object in block.objects().flatten() {
        write_object(&object, &names, &mut out)?;
    }
    out.flush()?;
    for error in forgiven {
        warn(&error.to_string());
    }
    Ok(Exit::Ok)
}

fn write_object(object: &Object<'_>, names: &TitleNames, out: &mut impl Write) -> io::Result<()> {
    let name = |index| names.get(index).map_or_else(|| "-".to_owned(), |name| escaped(cut(name, NAME_MAX)));
    let (at, index) = (object.offset(), object.name_index());
    let kind = match object.contents() {
        Contents::Single(_) => "",
        Contents::Multiple(instances) if instances.clone().next().is_none() => ", no instances now",
        Contents::Multiple(_) => ", instances",
        Contents::Metadata { .. } => ", definitions only",
    };
    writeln!(out, "{at:08x}  {:9} {index:>7}  {}{kind}", "object", name(index))?;
    for definition in object.definitions().iter() {
        let (at, index, what) = (definition.offset(), definition.name_index(), definition.counter_type());
        writeln!(out, "{at:08x}    {:9} {index:>5}  {}  {what}", "counter", name(index))?;
    }
    if let Contents::Multiple(instances) = object.contents() {
        for instance in instances.flatten() {
            write_instance(&instance, out)?;
        }
    }
    Ok(())
}

fn write_instance(instance: &Instance<'_>, out: &mut impl Write) -> io::Result<()> {
    let unique_id = instance.unique_id().map(|id| id.to_string()).unwrap_or_default();
    let name = escaped(&instance.name().to_string());
    write!(out, "{:08x}    {:9} {unique_id:>5}  {name}", instance.offset(), "instance")?;
    if let Some(parent) = instance.parent() {
        write!(out, "  (parent: instance #{} of object {})", parent.position, parent.object)?;
    }
    writeln!(out)
}

/// Prints the values of one V1 block, or those of the newer of two blocks.
fn values(args: &V1ValuesArgs) -> Result<Exit, Failure> {
    let files: Vec<&Path> = std::iter::once(&args.file).chain(&args.newer).map(|file| &**file).collect();
    // The second reader of standard input would find it at its end.
    if files.iter().chain(&args.names.as_deref()).filter(|file| is_dash(file)).count() > 1 {
        return Err(Failure::new(Exit::Usage, anyhow!("standard input can be only one of the files")));
    }
    let names = args.names.as_deref().map(|file| table(file, &input::read_data(file)?)).transpose()?;
    let blocks = files.iter().map(|file| input::read_data(file)).collect::<Result<Vec<_>, _>>()?;
    let headers: Vec<_> = blocks.iter().map(|bytes| has_header(bytes)).collect();
    let promised = |bytes: &Vec<u8>| DataBlock::parse(bytes).is_ok_and(|block| block.object_count() > 0);
    let is_promised = blocks.iter().any(promised);
    let host = blocks.last().and_then(|bytes| DataBlock::parse(bytes).ok()?.system_name().to_string().into());
    let file_of = |problem: &BlockProblem| files.get(problem.block).copied().unwrap_or(&args.file);
    let refused = |problem: BlockProblem| {
        let has_header = headers.get(problem.block) == Some(&true);
        not_valid(file_of(&problem), has_header, &problem)
    };
    let (mut source, problems) = Blocks::new(blocks, names.as_ref(), mode(args.lenient)).map_err(refused)?;
    for problem in problems {
        warn(&format!("{}: {problem}", file_of(&problem).display()));
    }
    let failed = |error| Failure::new(Exit::SourceFailed, error);
    let paths = all_paths(&source);
    let mut query = PathQuery::open(&mut source).map_err(failed)?;
    for (guid, path) in &paths {
        // The path uses the GUID, because an untrusted name might look like a GUID or a pattern.
        let path = CounterPath { counterset: format!("{{{guid}}}"), ..path.clone() };
        query.add(&mut source, &path).map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    }
    let paths: Vec<_> = paths.into_iter().map(|(_, path)| path).collect();
    let form = if args.raw { NumberForm::Raw } else { NumberForm::Formatted };
    let options = PrintOptions { format: args.format, form, host, ..PrintOptions::default() };
    let mut output = ValuePrinter::stdout(options, &paths);
    // Of two blocks only the newer one is shown; the older one is the base of its rates.
    while query.collect().map_err(failed)? == NextOutcome::Sample {}
    match (paths.is_empty(), is_promised) {
        (true, true) => Err(Failure::new(Exit::InvalidData, anyhow!("no object of the block can be read"))),
        (true, false) => Err(Failure::new(Exit::NothingMatched, anyhow!("the block has no object"))),
        (false, _) => {
            output.sample(query.snapshot().clocks(), &mut query.values())?;
            output.finish()?;
            Ok(Exit::Ok)
        }
    }
}

/// Returns a counter path for each object of V1 blocks that selects all counters of all instances, by title index.
fn all_paths(source: &Blocks) -> Vec<(Guid, CounterPath)> {
    let mut sets = countersets(source.machine());
    sets.sort_by_key(|set| set.v1_index);
    let has_counters = |set: &Counterset| set.counters.iter().any(|counter| counter.name.is_some());
    let path = |set: &Counterset| CounterPath {
        machine: None,
        counterset: set.name.to_string(),
        instance: (set.instance_type.is_multiple()).then(|| "*".to_owned()),
        counter: "*".to_owned(),
    };
    sets.iter().filter(|set| has_counters(set)).map(|set| (set.guid, path(set))).collect()
}

fn mode(lenient: bool) -> Mode {
    if lenient { Mode::Tolerant } else { Mode::Strict }
}

/// Returns `true` if the bytes begin with a valid V1 block header. Otherwise `--lenient` cannot show anything.
fn has_header(bytes: &[u8]) -> bool {
    DataBlock::parse(bytes).is_ok()
}

fn not_valid(file: &Path, has_header: bool, why: &dyn Display) -> Failure {
    let hint = if has_header { "\n  --lenient reads as much as possible" } else { "" };
    let error = anyhow!("{}: not a valid V1 block: {why}{hint}", name_of(file));
    Failure::new(Exit::InvalidData, error)
}

/// Reads the name table in a file; without a file, returns the names of the catalogue.
fn names_for(file: Option<&Path>) -> Result<TitleNames, Failure> {
    match file {
        Some(file) => table(file, &input::read_data(file)?),
        None => Ok(windows_names()),
    }
}

/// Parses the bytes of a V1 name table. Invalid pairs are printed as warnings; a file without any valid pair is an
/// error.
fn table(file: &Path, bytes: &[u8]) -> Result<TitleNames, Failure> {
    let (names, skipped) = TitleNames::read(NameTable::new(bytes));
    if names.iter().len() == 0 {
        let error = anyhow!("{}: neither a V1 block nor a name table", name_of(file));
        return Err(Failure::new(Exit::InvalidData, error));
    }
    for error in skipped {
        warn(&error.to_string());
    }
    Ok(names)
}

fn warn(text: &str) {
    // Standard error is the last place to report to, so a failure of it is ignored.
    let _ = writeln!(io::stderr(), "warning: {}", escaped(text));
}
