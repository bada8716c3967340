import { readdir, readFile, rm, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';

/**
 * Implements the multipart calls that the tests' S3 server lacks, on its files: ListMultipartUploads, ListParts,
 * AbortMultipartUpload. A missing upload gives `NoSuchUpload`.
 * @param directory - the server's.
 * @returns whether the request was one of these and has been answered.
 */
export async function answerOnUploads(
  directory: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  const [, bucket = '', ...key] = pathname.split('/').map(decodeURIComponent);
  const uploads = join(directory, bucket, '._S3rver_uploads');
  const { method } = request;
  const answer = (status: number, xml: string): true => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>${xml}`);
    return true;
  };
  if (method === 'GET' && searchParams.has('uploads')) {
    const begun = (await uploadsIn(uploads)).filter((upload) =>
      upload.key.startsWith(searchParams.get('prefix') ?? ''),
    );
    const listed = begun.map(
      ({ id, key: name, initiated }) =>
        `<Upload><Key>${name}</Key><UploadId>${id}</UploadId><Initiated>${initiated}</Initiated></Upload>`,
    );
    return answer(200, `<ListMultipartUploadsResult>${listed.join('')}</ListMultipartUploadsResult>`);
  }
  const id = searchParams.get('uploadId');
  if (id === null) return false;
  const upload = (await uploadsIn(uploads)).find((one) => one.id === id && one.key === key.join('/'));
  if (upload === undefined) {
    return answer(404, '<Error><Code>NoSuchUpload</Code><Message>There is no such upload.</Message></Error>');
  }
  if (method === 'DELETE') {
    await rm(join(uploads, id), { recursive: true });
    request.resume();
    response.writeHead(204).end();
    return true;
  }
  if (method !== 'GET') return false;
  return answer(200, `<ListPartsResult>${(await partsIn(join(uploads, id))).join('')}</ListPartsResult>`);
}

interface Upload {
  readonly id: string;
  readonly key: string;
  readonly initiated: string;
}

async function uploadsIn(folder: string): Promise<Upload[]> {
  const ids = await readdir(folder).catch(() => []);
  const uploads = ids.map((id) => uploadIn(folder, id).catch(() => undefined));
  return (await Promise.all(uploads)).filter((upload) => upload !== undefined);
}

/** @throws Error if it is only being created, or has ended since it was listed. */
async function uploadIn(folder: string, id: string): Promise<Upload> {
  const file = join(folder, id, 'key');
  return { id, key: await readFile(file, 'utf8'), initiated: (await stat(file)).birthtime.toISOString() };
}

async function partsIn(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => /^\d+$/.test(name));
  const parts = files.map(async (number) => {
    // A part has no MD5 while it is being written.
    const md5 = await readFile(join(folder, `${number}.md5`), 'utf8').catch(() => undefined);
    if (md5 === undefined) return '';
    const { size } = await stat(join(folder, number));
    return `<Part><PartNumber>${number}</PartNumber><ETag>&quot;${md5}&quot;</ETag><Size>${size}</Size></Part>`;
  });
  return Promise.all(parts);
}
