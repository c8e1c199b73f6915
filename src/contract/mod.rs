//! What an op is: what it takes and gives, what it needs, which region it reads for a region it writes,
//! how it runs, and how it fails. The engine knows ops by this module alone.

pub mod blocking;
pub mod codes;
mod context;
mod failure;
mod item;
mod kind;
mod location;
mod op;
mod port;
pub mod program;
mod registry;
mod shape;
mod shared_files;
mod shared_ranges;
mod template;

pub use context::{Commits, ComputeContext, Intended, SourceContext, TransferContext};
pub use failure::Failure;
pub use item::{
    Asset, AssetSet, Blob, BlobSet, Content, Encoded, EncodedBody, Item, Lineage, Location, OutputFile,
    Payload, Placed, Properties, Row, TemporaryFile,
};
pub use kind::{
    Assemble, Assembly, Compute, Expand, Gather, Kind, Regroup, Regrouped, Source, TableRows, Transfer,
};
pub use op::{BandNames, Members, Moves, Op, Take};
pub use port::Port;
pub use registry::{Environment, OpEntry, Registry};
pub use shape::{AssetNeed, AssetShape, BandShape, Foreseen, MemberShape, Shape};
pub use shared_files::SharedFiles;
pub use shared_ranges::{Claim, KeptRange, SharedRanges, Sharing};
pub use template::{Scope, Template};
