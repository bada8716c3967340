// What broke: graph.json names the export "grahp".
export const graph = (config) => {
  throw new Error(`never called: ${JSON.stringify(config)}`);
};
