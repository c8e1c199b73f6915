//! A language server on pipes: asked for completions as an editor asks.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

/// A server that has not loaded a schema after so long never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; it ends with this.
pub(crate) struct LanguageServer {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    last: u64,
}

/// What is offered at a place.
pub(crate) struct Completion {
    pub(crate) label: String,
    pub(crate) documentation: String,
}

impl LanguageServer {
    /// Starts a server and opens a folder in it.
    pub(crate) fn start(command: &mut Command, folder: &Path) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir(folder);
        let mut process = command.spawn().unwrap_or_else(|error| panic!("`{name}` is needed: {error}"));
        let (requests, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut server = Self { process, requests, answers: BufReader::new(answers), last: 0 };
        let root = format!("file://{}", folder.display());
        let item = json!({ "snippetSupport": true, "documentationFormat": ["markdown"] });
        server.request(
            "initialize",
            &json!({
                "processId": null,
                "rootUri": root,
                "capabilities": { "textDocument": { "completion": { "completionItem": item } } },
                "workspaceFolders": [{ "uri": root, "name": "pipelines" }],
                "initializationOptions": {},
            }),
        );
        server.send(&json!({ "method": "initialized", "params": {} }));
        server
    }

    /// Opens a file and asks what may stand at a place in it, until something may: the schema is loaded behind the answers.
    pub(crate) fn complete(
        &mut self,
        file: &Path,
        text: &str,
        line: usize,
        column: usize,
    ) -> Vec<Completion> {
        let uri = format!("file://{}", file.display());
        let document = json!({ "uri": uri, "languageId": "toml", "version": 1, "text": text });
        self.send(&json!({ "method": "textDocument/didOpen", "params": { "textDocument": document } }));
        let place = json!({
            "textDocument": { "uri": uri },
            "position": { "line": line, "character": column },
            "context": { "triggerKind": 1 },
        });
        let begun = Instant::now();
        loop {
            let found = self.request("textDocument/completion", &place);
            let items = found.as_array().or_else(|| found["items"].as_array()).cloned().unwrap_or_default();
            if !items.is_empty() || begun.elapsed() > PATIENCE {
                return items.iter().map(Completion::of).collect();
            }
        }
    }

    fn request(&mut self, method: &str, params: &Json) -> Json {
        self.last += 1;
        self.send(&json!({ "id": self.last, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["method"].is_string() {
                self.answer(&message);
            } else if message["id"] == self.last {
                return message["result"].clone();
            }
        }
    }

    /// The server asks for settings too; there are none.
    fn answer(&mut self, message: &Json) {
        if message["id"].is_null() {
            return;
        }
        let items =
            message["params"]["items"].as_array().filter(|_| message["method"] == "workspace/configuration");
        let result = items.map_or(Json::Null, |items| items.iter().map(|_| json!({})).collect());
        self.send(&json!({ "id": message["id"], "result": result }));
    }

    fn send(&mut self, message: &Json) {
        let mut message = message.clone();
        message["jsonrpc"] = "2.0".into();
        let body = message.to_string();
        write!(self.requests, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.requests.flush().unwrap();
    }

    fn receive(&mut self) -> Json {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the language server has ended");
            match line.trim().to_ascii_lowercase().split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.answers.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }
}

impl Drop for LanguageServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Completion {
    fn of(item: &Json) -> Self {
        let documentation = &item["documentation"];
        let text = documentation["value"].as_str().or(documentation.as_str()).unwrap_or_default();
        Self { label: item["label"].as_str().unwrap().to_owned(), documentation: text.to_owned() }
    }
}
