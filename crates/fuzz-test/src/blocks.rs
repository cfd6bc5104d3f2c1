//! Fuzz target that reads arbitrary bytes as a V2 block or list.

use std::fmt::{self, Write};
use std::ops::ControlFlow;

use perfset_core::v2::template::Template;
use perfset_core::v2::{Block, BlockFormat, Body, read, visit};
use perfset_core::visit::{Event, Mode};
use perfset_core::wire::WireError;

/// Visits and prints every field of a V2 block. The visit must end after work in proportion to the input, and its
/// error must lie inside the bytes.
pub fn check(format: BlockFormat, bytes: &[u8]) {
    let _ = walk_all(format, bytes);
}

/// Checks counter data as [`check`] does, and that strict and lenient reading, the visit and the iterators agree.
pub fn check_data(bytes: &[u8]) {
    let walked = walk_all(BlockFormat::Data, bytes);
    let tolerant = read(bytes, Mode::Tolerant).map(|(_, forgiven)| forgiven);
    let strict = read(bytes, Mode::Strict).map(|_| ());
    for error in tolerant.iter().flatten().chain(tolerant.as_ref().err()).chain(strict.as_ref().err()) {
        inside(error, bytes);
    }
    assert_eq!(tolerant.as_ref().err(), walked.as_ref().err());
    match (strict, tolerant) {
        (Ok(()), tolerant) => assert_eq!(tolerant, Ok(Vec::new())),
        (Err(error), Ok(forgiven)) => assert_eq!(forgiven.first(), Some(&error)),
        (Err(_), Err(_)) => {}
    }
    assert_eq!(Block::parse(bytes).and_then(|block| visit_values(&block)).is_ok(), walked.is_ok());
}

/// Checks that a counterset template has as many counters as its header says, each in 32 bytes, and that bytes after
/// them are ignored.
pub fn check_template(bytes: &[u8]) {
    const HEADER: usize = 40;
    const COUNTER: usize = 32;
    match Template::parse(bytes) {
        Err(error) => inside(&error, bytes),
        Ok(template) => {
            let set = template.counterset();
            assert_eq!(set.counters.len(), template.counter_count());
            let len = HEADER + COUNTER * template.counter_count();
            let alone = Template::parse(&bytes[..len]).expect("nothing of it is left out");
            assert_eq!(alone.counterset(), set);
            assert!(Template::parse(&bytes[..len - 1]).is_err());
        }
    }
}

fn walk_all(format: BlockFormat, bytes: &[u8]) -> Result<(), WireError> {
    let mut events = 0_usize;
    let end = visit(format, bytes, &mut |event| {
        events += 1;
        match event {
            Event::Structure { offset, .. } => assert!(offset <= bytes.len()),
            Event::Field { offset, value, .. } => {
                assert!(offset <= bytes.len());
                let _ = write!(Nowhere, "{value}");
            }
            Event::CounterValue { offset, value, .. } => {
                assert!(offset <= bytes.len());
                let _ = write!(Nowhere, "{value}");
            }
            Event::Broken(rule) | Event::Unusual(rule) => inside(&rule, bytes),
        }
        ControlFlow::Continue(())
    });
    assert!(events <= bytes.len() * 2 + 16, "{events} events for {} bytes", bytes.len());
    if let Err(error) = &end {
        inside(error, bytes);
    }
    end
}

/// Checks that an error of a block lies inside the bytes, and prints it.
pub(crate) fn inside(error: &WireError, bytes: &[u8]) {
    assert!(error.offset <= bytes.len(), "{error}, of {}", bytes.len());
    let _ = write!(Nowhere, "{error}");
}

/// Reads every value of a block three ways: by position, by iteration and by folding.
fn visit_values(block: &Block<'_>) -> Result<(), WireError> {
    for result in block.results() {
        match result?.body {
            Body::Error | Body::SingleCounter(_) => {}
            Body::MultipleCounters(ids, values) => assert_eq!(ids.len(), values.len()),
            Body::MultipleInstances(table) | Body::Counterset(_, table) => {
                for row in table.rows() {
                    let values = row?.values();
                    let mut each = values.iter();
                    values.iter().for_each(|folded| assert_eq!(each.next(), Some(folded)));
                    assert_eq!(each.next(), None);
                    for at in [0, values.len() / 2, values.len()] {
                        assert_eq!(values.get(at), values.iter().nth(at));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Writer that discards all text.
pub(crate) struct Nowhere;

impl Write for Nowhere {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}
