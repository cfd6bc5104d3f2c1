//! The V1 performance data format: the bytes of HKEY_PERFORMANCE_DATA, of remote registry reads and of recorded logs.
//!
//! [`DataBlock::parse`] reads a block of perfset, Windows or any other program; [`BlockBuilder`] writes one.
//! [`NameTable`] reads and [`name_table`] writes the tables that map title indexes to texts. [`visit()`] visits every
//! field of a block and checks every rule. [`read`] fails at the first violation, or lists the violations that it
//! ignores. [`visit::dump`](crate::visit::dump) prints a block.
//!
//! ```
//! use perfset::v1::{BlockBuilder, Contents, DataBlock, NewCounter, NewInstance, NewObject};
//! use perfset::{CounterType, DetailLevel, RawValue, clock::ClockReading};
//!
//! let mut builder = BlockBuilder::new(&ClockReading::default(), "HOST");
//! let processor = NewObject::new(238);
//! let interrupts = NewCounter::new(148, CounterType::PERF_COUNTER_COUNTER);
//! let mut instances = builder.multiple(&processor, &[interrupts]);
//! instances.instance(&NewInstance::named(&"_Total".encode_utf16().collect::<Vec<_>>()), [5000]);
//! instances.finish();
//! let bytes = builder.finish().unwrap();
//!
//! let block = DataBlock::parse(&bytes).unwrap();
//! let object = block.objects().next().unwrap().unwrap();
//! let Contents::Multiple(mut instances) = object.contents() else { panic!() };
//! let total = instances.next().unwrap().unwrap();
//! assert_eq!(total.name().to_string(), "_Total");
//! assert_eq!(total.values().get(0).unwrap().number(), Some(RawValue::U32(5000)));
//! ```

mod block;
mod build;
mod definition;
mod instance;
mod names;
#[cfg(test)]
mod number_tests;
pub mod raw;
#[cfg(test)]
mod tests;
mod visit;

pub use crate::code_page::InstanceName;
pub use block::{Contents, DataBlock, Object, Objects};
pub use build::{BlockBuilder, InstancesBuilder, NewCounter, NewInstance, NewObject, TooLarge};
pub use definition::{Definition, Definitions, DefinitionsIter};
pub use instance::{Instance, Instances, Parent, Values, ValuesIter};
pub use names::{NameTable, NamesIter, TitleNames, name_table};
pub use visit::{read, visit};

/// PERF_NO_UNIQUE_ID: the instance is identified by its name.
pub const PERF_NO_UNIQUE_ID: i32 = -1;
/// PERF_NO_INSTANCES: the object has values and never has instances.
pub const PERF_NO_INSTANCES: i32 = -1;
/// PERF_METADATA_MULTIPLE_INSTANCES: definitions only, of an object with instances.
pub const PERF_METADATA_MULTIPLE_INSTANCES: i32 = -2;
/// PERF_METADATA_NO_INSTANCES: definitions only, of an object that never has instances.
pub const PERF_METADATA_NO_INSTANCES: i32 = -3;
