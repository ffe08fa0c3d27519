/** Whether a read failed because the connection is gone. */
export function isLost(error: unknown): boolean {
  const { errors } = Deno;
  return [
    ...[errors.BadResource, errors.ConnectionReset, errors.ConnectionAborted, errors.Interrupted],
    ...[errors.BrokenPipe, errors.UnexpectedEof, errors.InvalidData, errors.TimedOut],
    errors.NotConnected,
  ].some((kind) => error instanceof kind);
}
