# SPDX-License-Identifier: Apache-2.0
from ._errors import (CheckError as CheckError, Error as Error, FileError as FileError, InputError as InputError,
                      LibraryError as LibraryError, MathError as MathError, Message as Message, ProviderError as ProviderError, SteptimeWarning as SteptimeWarning,
                      UnitError as UnitError, UnknownNameError as UnknownNameError)
from ._job import (Cell as Cell, Explanation as Explanation, Job as Job, Key as Key, Picture as Picture,
                   Quantity as Quantity, Report as Report)
from ._plan import Plan as Plan, Search as Search, search as search, sweep as sweep
from ._provider import Provider as Provider, provider as provider
from ._table import Column as Column, Table as Table
from ._tools import (Trace as Trace, Validation as Validation, export_job as export_job, import_job as import_job,
                     read_trace as read_trace, validate as validate)

__version__: str
