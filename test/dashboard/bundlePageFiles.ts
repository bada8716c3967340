const { bundlePage } = (await import(
  new URL('../../scripts/build/bundlePage.mjs', import.meta.url).href
)) as {
  readonly bundlePage: (folder: string) => Promise<string>;
};

/** Makes what browsers load, as the build does: tests need no build. */
export async function bundlePageFiles(folder: string): Promise<void> {
  await bundlePage(folder);
}
