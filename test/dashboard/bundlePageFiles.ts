const { bundlePage } = (await import(
  new URL('../../scripts/build/bundlePage.mjs', import.meta.url).href
)) as {
  readonly bundlePage: (folder: string) => Promise<string>;
};

/** Bundles the browser's files like the build, so that tests need no build. */
export async function bundlePageFiles(folder: string): Promise<void> {
  await bundlePage(folder);
}
