// Lines out of a stream that is split anywhere.

/** Collects chunks and tells each line without its end. Bytes are decoded a whole line at a time. */
export class Lines {
  #parts: Buffer[] = [];
  #size = 0;

  /** `limit` is the size of the longest line in bytes; `tooLong` is told once a line passes it. */
  constructor(readonly limit: number, readonly line: (text: string) => void, readonly tooLong: () => void) {}

  add(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      this.#flush();
    }
    this.#keep(chunk.subarray(start));
  }

  /** The stream has ended: what is left is the last line. */
  end(): void {
    this.#flush();
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    const fits = this.#size <= this.limit;
    this.#size += part.length;
    if (this.#size <= this.limit) return void this.#parts.push(part);
    this.#parts = [];
    if (fits) this.tooLong();
  }

  #flush(): void {
    const [parts, size] = [this.#parts, this.#size];
    this.#parts = [];
    this.#size = 0;
    if (size > 0 && size <= this.limit) this.line(Buffer.concat(parts, size).toString("utf8"));
  }
}
