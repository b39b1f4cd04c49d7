# SPDX-License-Identifier: Apache-2.0
"""Megatron-DeepSpeed's own parser and validation, from a source tree and without torch.

    deepspeed_start.py FOLDER

Reads launches from standard input, one a line as JSON: {"world": ranks, "arguments": [...]}, and answers each with a
line: "" where it starts, else what it died of.
"""
import contextlib
import io
import os
import sys
import traceback

import stand_ins


def start(parser, launch):
    os.environ['WORLD_SIZE'] = str(launch['world'])
    sys.argv = ['pretrain_gpt.py', *launch['arguments']]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            arguments = parser.parse_args(None)
            arguments.deepspeed, arguments.deepspeed_config = True, None  # options that DeepSpeed adds
            parser.validate_args(arguments, {})
    except SystemExit:
        return 'options: ' + said.getvalue().strip().split('\n')[-1]
    except BaseException as error:  # whatever it is, it ends the start
        place = traceback.extract_tb(sys.exc_info()[2])[-1]
        return f'{type(error).__name__}: {error} ({os.path.basename(place.filename)}:{place.lineno}: {place.line})'
    return ''


stand_ins.use(sys.argv[1], 'megatron')
import deepspeed  # stood in for
deepspeed.add_config_arguments = lambda parser: parser
import megatron.arguments
stand_ins.answer(lambda launch: start(megatron.arguments, launch))
