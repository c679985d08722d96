//! A router on the Python side, spoken to in the JSON form of the host protocol.

use std::fmt::Display;

use kv_router::{
    Candidate, Decision, KvEvent, PlaceRequest, Placed, RequestId, RequestSpec, RouterConfig,
    StoredBlock, WorkerConfig,
};
use pyo3::prelude::*;
use replay::Error;
use replay::router::Router;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::errors::ReplayError;

/// A callable that answers commands, made by calling `factory` with the setup.
#[derive(Debug)]
pub(crate) struct HostRouter(Py<PyAny>);

impl HostRouter {
    pub(crate) fn new(
        factory: &Py<PyAny>,
        config: &RouterConfig,
        workers: &[WorkerConfig],
    ) -> replay::Result<Self> {
        let setup = json!({"config": config, "workers": workers}).to_string();
        Python::attach(|py| factory.call1(py, (setup,)))
            .map(Self)
            .map_err(|error| Error::Host(error.into()))
    }

    /// The field of the answer to a command.
    fn ask<T: DeserializeOwned>(&self, command: &Value, field: &str) -> replay::Result<T> {
        let mut answer = self.answer(command)?;
        serde_json::from_value(answer[field].take())
            .map_err(|error| wrong(command, format_args!("{field}: {error}")))
    }

    fn answer(&self, command: &Value) -> replay::Result<Value> {
        let told = Python::attach(|py| -> PyResult<String> {
            self.0.call1(py, (command.to_string(),))?.extract(py)
        });
        let text = told.map_err(|error| Error::Host(error.into()))?;
        let answer: Value = serde_json::from_str(&text).map_err(|error| wrong(command, error))?;
        match &answer["error"] {
            Value::Null => Ok(answer),
            refusal => Err(wrong(command, refusal)),
        }
    }

    fn released(&self, command: &Value) -> replay::Result<Vec<Decision>> {
        self.ask(command, "released")
    }
}

impl Router for HostRouter {
    fn place(&mut self, now_ms: f64, request: &PlaceRequest<'_>) -> replay::Result<Placed> {
        let request = RequestSpec::from(request);
        let command = json!({"command": "place", "now_ms": now_ms, "request": request});
        let answer = self.answer(&command)?;
        serde_json::from_value(answer).map_err(|error| wrong(&command, error))
    }

    fn observe(
        &mut self,
        now_ms: f64,
        source: Candidate,
        event: KvEvent<'_>,
    ) -> replay::Result<()> {
        let event = match event {
            KvEvent::Stored {
                parent_hash,
                blocks,
            } => {
                let blocks: Vec<Value> = blocks.iter().map(block).collect();
                json!({"type": "stored", "parent_hash": parent_hash, "blocks": blocks})
            }
            KvEvent::Removed { block_hashes } => {
                json!({"type": "removed", "block_hashes": block_hashes})
            }
            KvEvent::Cleared => json!({"type": "cleared"}),
        };
        let command = json!({
            "command": "observe", "now_ms": now_ms, "worker_id": source.worker_id,
            "dp_rank": source.dp_rank, "event": event,
        });
        self.answer(&command).map(|_| ())
    }

    fn prefill_completed(&mut self, now_ms: f64, id: RequestId) -> replay::Result<Vec<Decision>> {
        self.released(&about("prefill_completed", now_ms, id))
    }

    fn dispatch_committed(
        &mut self,
        now_ms: f64,
        id: RequestId,
        at: Candidate,
    ) -> replay::Result<Vec<Decision>> {
        let mut command = about("dispatch_committed", now_ms, id);
        command["worker_id"] = at.worker_id.into();
        command["dp_rank"] = at.dp_rank.into();
        self.released(&command)
    }

    fn dispatch_aborted(&mut self, now_ms: f64, id: RequestId) -> replay::Result<Vec<Decision>> {
        self.released(&about("dispatch_aborted", now_ms, id))
    }

    fn request_terminal(&mut self, now_ms: f64, id: RequestId) -> replay::Result<Vec<Decision>> {
        self.released(&about("request_terminal", now_ms, id))
    }

    fn advance_clock(&mut self, now_ms: f64) -> replay::Result<Vec<Decision>> {
        self.released(&json!({"command": "advance_clock", "now_ms": now_ms}))
    }

    fn next_wakeup_ms(&self) -> replay::Result<Option<f64>> {
        self.ask(&json!({"command": "next_wakeup_ms"}), "next_wakeup_ms")
    }
}

fn about(command: &str, now_ms: f64, id: RequestId) -> Value {
    json!({"command": command, "now_ms": now_ms, "request_id": id})
}

fn block(block: &StoredBlock) -> Value {
    json!({"block_hash": block.block_hash, "tokens_hash": block.tokens_hash})
}

fn wrong(command: &Value, what: impl Display) -> Error {
    let name = &command["command"];
    let text = format!("the host's router answered {name} with what is no answer: {what}");
    Error::Host(ReplayError::new_err(text).into())
}
