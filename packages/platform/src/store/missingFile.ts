/** For `catch`: resolves with `undefined` if a file or folder does not exist. */
export function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
