//! Messages of all sizes over a socket.

use crate::{application::Scripted, raw::Socket, tokens::MemoryTokens};
use serde_json::json;
use serve::ServeOptions;
use std::sync::Arc;

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_client_gets_no_message_over_16_mib() {
    let application = Arc::new(Scripted::default());
    let server = application.server(Arc::new(MemoryTokens::default()), ServeOptions::default());
    let mut socket = Socket::initialized(&server).await;

    let updates = json!({ "sessionId": "s", "count": 2, "size": 17 * MIB });
    socket.request(2, "stream", updates).await;
    for n in [1, 2] {
        let update = socket.next().await.unwrap();
        assert_eq!(update["params"]["n"], n);
        assert!(update["params"]["text"].as_str().unwrap().contains("17825792 bytes are not shown"));
        let omitted = &update["params"]["_meta"]["tiller"]["omitted"][0];
        assert_eq!((&omitted["pointer"], &omitted["bytes"]), (&json!("/text"), &json!(17 * MIB)));
        assert_eq!(omitted["hash"].as_str().unwrap().len(), 64);
    }
    assert_eq!(socket.next().await.unwrap()["result"]["sent"], 2);

    socket.request(3, "stream", json!({ "sessionId": "s", "count": 1, "size": 15 * MIB })).await;
    assert_eq!(socket.next().await.unwrap()["params"]["text"].as_str().unwrap().len(), 15 * MIB);
    assert_eq!(socket.next().await.unwrap()["id"], 3);

    socket.request(4, "echo", json!({ "text": "x".repeat(17 * MIB) })).await;
    assert_eq!(socket.next().await.unwrap()["error"]["data"]["reason"], "too_large");

    // The application gets an error in place of the client's answer.
    let write = json!({ "sessionId": "s", "method": "fs/write_text_file", "size": 17 * MIB });
    socket.request(5, "ask", write).await;
    let answer = socket.next().await.unwrap();
    assert_eq!(
        (&answer["id"], &answer["result"]["answered"]["data"]["reason"]),
        (&json!(5), &json!("too_large"))
    );
}
