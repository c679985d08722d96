//! Running a replay from Python, without holding the interpreter.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kv_router::{RouterConfig, WorkerConfig};
use pyo3::prelude::*;
use replay::config::RouterPolicy;
use replay::report::Tool;
use replay::router::{self, Router};
use replay::trace::sample;
use replay::{ConfigError, Error, Outcome, ReplayConfig, Trace, time};

use crate::errors::to_python;
use crate::host::HostRouter;
use crate::{REVISION, VERSION};

const TOOL: Tool = Tool {
    name: "replay-sim",
    version: VERSION,
    source_revision: REVISION,
};

/// How often a long replay looks at signals and tells how far it is.
const WATCH_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Report>()?;
    module.add_function(wrap_pyfunction!(resolve_config, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(inspect, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(convert, module)?)?;
    module.add_function(wrap_pyfunction!(sample_trace, module)?)
}

/// See `_core.pyi`.
#[pyclass(frozen, module = "replay_sim._core")]
struct Report {
    inner: replay::Report,
    wall_seconds: f64,
}

#[pymethods]
impl Report {
    /// Host time of the event loop alone, s.
    #[getter]
    fn wall_seconds(&self) -> f64 {
        self.wall_seconds
    }

    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| self.inner.to_json())
    }

    fn requests_jsonl(&self, py: Python<'_>) -> PyResult<String> {
        let bytes = py.detach(|| {
            let mut bytes = Vec::new();
            self.inner.write_requests(&mut bytes).map(|()| bytes)
        })?;
        Ok(String::from_utf8(bytes)?)
    }

    fn write_requests(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let mut out = BufWriter::new(File::create(path)?);
            self.inner.write_requests(&mut out)?;
            out.flush()
        })?;
        Ok(())
    }
}

#[pyfunction]
fn resolve_config(config: &str) -> PyResult<String> {
    let config = read_config(config)?;
    serde_json::to_string(&config).map_err(|error| to_python(Error::Internal(error.to_string())))
}

#[pyfunction]
#[pyo3(signature = (traces, config, watch=None, router=None))]
fn run(
    py: Python<'_>,
    traces: Vec<PathBuf>,
    config: &str,
    watch: Option<Py<PyAny>>,
    router: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let config = read_config(config)?;
    if router.is_some() && config.router.policy == RouterPolicy::RoundRobin {
        let error = ConfigError {
            setting: "router.policy".to_string(),
            what: "round_robin would never ask the host's router".to_string(),
            fix: "set it to kv_router, or give no host_router".to_string(),
        };
        return Err(to_python(error.into()));
    }
    watched(py, watch, |host| {
        let trace = Trace::load(&traces, &config.trace, &mut |_| host.look(None))?;
        let start = Instant::now();
        let mut routers = |settings: RouterConfig, workers: &[WorkerConfig]| match &router {
            None => router::native(settings, workers),
            Some(factory) => {
                let router = HostRouter::new(factory, &settings, workers)?;
                Ok(Box::new(router) as Box<dyn Router>)
            }
        };
        let outcome = replay::replay_behind(&trace, &config, &mut routers, &mut |progress| {
            let state = (progress.ended, progress.total, time::to_ms(progress.now));
            host.look(Some(state))
        })?;
        let wall_seconds = start.elapsed().as_secs_f64();
        Ok(report(trace, config, outcome, wall_seconds))
    })
}

#[pyfunction]
fn inspect(py: Python<'_>, traces: Vec<PathBuf>, config: &str) -> PyResult<String> {
    let config = read_config(config)?;
    watched(py, None, |host| {
        let trace = Trace::load(&traces, &config.trace, &mut |_| host.look(None))?;
        let found = trace.inspect(config.engine.block_size);
        serde_json::to_string(&found).map_err(|error| Error::Internal(error.to_string()))
    })
}

#[pyfunction]
fn validate(
    py: Python<'_>,
    traces: Vec<PathBuf>,
    config: &str,
    limit: usize,
) -> PyResult<(Vec<String>, u64, usize)> {
    let config = read_config(config)?;
    watched(py, None, |host| {
        let watch = &mut |_| host.look(None);
        let (trace, wrong, count) = Trace::validate(&traces, &config.trace, limit, watch)?;
        let messages = wrong.iter().map(ToString::to_string).collect();
        Ok((messages, count, trace.requests.len()))
    })
}

#[pyfunction]
fn convert(
    py: Python<'_>,
    traces: Vec<PathBuf>,
    config: &str,
    into: &str,
    output: PathBuf,
) -> PyResult<(usize, u32)> {
    let (config, into) = (read_config(config)?, read_config(into)?);
    watched(py, None, |host| {
        let watch = &mut |_| host.look(None);
        let trace = Trace::load(&traces, &config.trace, watch)?;
        trace.convert(into.trace.format, &output, watch)?;
        Ok((trace.requests.len(), trace.block_size))
    })
}

fn read_config(config: &str) -> PyResult<ReplayConfig> {
    ReplayConfig::from_json(config).map_err(|error| to_python(error.into()))
}

/// Runs without the interpreter. What Python raises meanwhile is raised here.
fn watched<T: Send>(
    py: Python<'_>,
    watch: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Host) -> replay::Result<T> + Send,
) -> PyResult<T> {
    let mut host = Host {
        watch,
        last: Instant::now(),
        error: None,
    };
    let result = py.detach(|| work(&mut host));
    match (result, host.error) {
        (Ok(value), _) => Ok(value),
        (Err(Error::Interrupted), Some(error)) => Err(error),
        (Err(error), _) => Err(to_python(error)),
    }
}

fn report(trace: Trace, config: ReplayConfig, outcome: Outcome, wall_seconds: f64) -> Report {
    Report {
        inner: replay::Report::new(TOOL, trace, config, outcome),
        wall_seconds,
    }
}

#[pyfunction]
fn sample_trace(requests: u64, seed: u64) -> String {
    sample::sample(requests, seed)
}

/// The Python side of a running replay.
struct Host {
    watch: Option<Py<PyAny>>,
    last: Instant,
    error: Option<PyErr>,
}

impl Host {
    /// Looks at signals and reports progress, if it is time to; breaks when Python raised.
    fn look(&mut self, progress: Option<(u64, u64, f64)>) -> ControlFlow<()> {
        if self.last.elapsed() < WATCH_EVERY {
            return ControlFlow::Continue(());
        }
        let told = Python::attach(|py| {
            py.check_signals()?;
            match (&self.watch, progress) {
                (Some(watch), Some(progress)) => watch.call1(py, progress).map(|_| ()),
                _ => Ok(()),
            }
        });
        self.last = Instant::now();
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
