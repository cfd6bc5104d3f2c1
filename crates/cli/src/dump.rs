//! `perfset dump FILE`: a block as text.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::Context;
use perfset::v2::{Format, walk};
use perfset::walk::{Event, dump};

use crate::args::DumpArgs;
use crate::exit::{Exit, Failure};

pub fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    let name = args.file.display();
    let bytes = read(&args.file)
        .with_context(|| format!("cannot read {name}"))
        .map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    let format = Format::from(args.format);
    if args.strict {
        strict(format, &bytes)
            .with_context(|| format!("{name}: not a strictly valid V2 block"))
            .map_err(invalid)?;
    }
    let mut text = String::new();
    let end = dump(|visit| walk(format, &bytes, visit), &mut text);
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    let is_v1 = bytes.starts_with(b"P\0E\0R\0F\0");
    let what = if is_v1 {
        "a V1 block (PERF_DATA_BLOCK), which is not supported yet"
    } else {
        "not a valid V2 block"
    };
    end.with_context(|| format!("{name}: {what}")).map_err(invalid)?;
    Ok(Exit::Ok)
}

fn invalid(error: anyhow::Error) -> Failure {
    Failure::new(Exit::InvalidData, error)
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    fs::read(file)
}

fn strict(format: Format, bytes: &[u8]) -> anyhow::Result<()> {
    use std::ops::ControlFlow;
    let mut first = None;
    walk(format, bytes, &mut |event| match event {
        Event::Broken(rule) => {
            first = Some(rule);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    })?;
    Ok(first.map_or(Ok(()), Err)?)
}
