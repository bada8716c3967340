/** How many of what, in words: `no warnings`, `1 warning`, `2 warnings`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count === 0 ? 'no' : count} ${count === 1 ? one : many}`;
}
