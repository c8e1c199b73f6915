//! Real servers, started for a test and ended with it: an S3-compatible store, and two STAC APIs.
//!
//! This binary runs only where it is asked for, `cargo test --test services`. GISRUN_SERVICES names the `bin` folder of a
//! Python environment with `moto[server]`, `boto3`, `rustac`, `pypgstac[psycopg]`, `stac-fastapi.pgstac` and `uvicorn`;
//! GISRUN_SHARED the folder with the scripts `services/stac/up_*.sh`, which need PostgreSQL 15 with PostGIS.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test stops at what cannot be, and is told where"
)]

mod bench;
mod s3;
mod stac;
