//! The gate's part of the configuration, as it is in the library.

#[path = "../../src/config/raw/gate.rs"]
mod gate;

pub(crate) use gate::{
    RawFailOrWarn as FailOrWarn, RawGate as GateSettings, RawMetricRule as MetricRule,
    RawOnSuspected as OnSuspected, RawPolicy as MetricPolicy, RawRule as GateRule,
};
