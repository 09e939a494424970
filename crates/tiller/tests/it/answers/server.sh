#!/bin/sh
# An MCP server with a tool, a resource and a prompt. One JSON message a line.
object='{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    case $line in
    *'"method":"initialize"'*)
        reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"words","version":"1"}}'
        ;;
    *'"method":"tools/list"'*)
        reply '{"tools":[{"name":"count","description":"Counts words","annotations":{"readOnlyHint":true},"inputSchema":'"$object"'}]}'
        ;;
    *'"method":"tools/call"'*) reply '{"content":[{"type":"text","text":"{\"words\":2}"}]}' ;;
    *'"method":"resources/list"'*) reply '{"resources":[{"uri":"file:///x","name":"x"}]}' ;;
    *'"method":"resources/read"'*) reply '{"contents":[{"uri":"file:///x","text":"one two"}]}' ;;
    *'"method":"prompts/list"'*) reply '{"prompts":[{"name":"greet","description":"Greets"}]}' ;;
    *'"method":"prompts/get"'*)
        reply '{"messages":[{"role":"user","content":{"type":"text","text":"Greet."}}]}'
        ;;
    *) [ -n "$id" ] && reply '{}' ;;
    esac
done
