//! The local history: every run and its items in an embedded database beside the configuration.
