#!/bin/sh
# An MCP server with a tool that reads and one that writes. One JSON message a line.
object='{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    case $line in
    *'"method":"initialize"'*)
        reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"words","version":"1"}}'
        ;;
    *'"method":"tools/list"'*)
        reply '{"tools":[{"name":"count","description":"Counts words","annotations":{"readOnlyHint":true},"inputSchema":'"$object"'},{"name":"note","description":"Keeps a text","inputSchema":'"$object"'}]}'
        ;;
    *'"name":"count"'*) reply '{"content":[{"type":"text","text":"{\"words\":2}"}]}' ;;
    *'"name":"note"'*) reply '{"content":[{"type":"text","text":"kept with '"$API_TOKEN"'"}]}' ;;
    esac
done
